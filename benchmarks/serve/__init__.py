"""The cost of a service with many rooms, and of a burst in one room for the others."""
