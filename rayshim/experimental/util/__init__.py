"""Types of the experimental modules."""
