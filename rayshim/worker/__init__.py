"""What runs in a worker: making actors, running calls, errors on their way back."""
