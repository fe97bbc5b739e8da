"""The worker's side: creation of actors, running of calls, concurrency, context, environment, and errors on their way back."""
