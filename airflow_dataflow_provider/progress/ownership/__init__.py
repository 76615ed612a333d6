"""The identity of a state's pipeline, and the ownership of drivers."""
