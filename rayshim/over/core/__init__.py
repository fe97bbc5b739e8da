"""Ray's protocol classes, which its libraries import, come from its package."""
