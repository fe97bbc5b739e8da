"""Ray's autoscaler: there is none here."""
