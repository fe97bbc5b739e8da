"""Parts of ray.util that its libraries import."""
