"""The machine's resources: numbers of demands, devices, reservations."""
