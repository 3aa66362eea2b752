"""Places where tasks run."""
