"""What a driver is asked to do from outside."""
