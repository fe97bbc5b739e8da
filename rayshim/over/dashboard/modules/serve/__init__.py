"""Ray's dashboard: there is none here."""
