"""What logical order costs, where it gives way, and what is told when nothing moves."""
