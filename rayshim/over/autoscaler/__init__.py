"""Ray's autoscaler: there is none here."""

from rayshim.over.autoscaler import sdk  # noqa: F401
