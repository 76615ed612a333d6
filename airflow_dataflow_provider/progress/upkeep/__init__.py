"""What is set aside, what is cleared away, and whether everything is there."""
