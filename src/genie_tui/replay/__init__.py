"""Watching a recorded room again: what is where in it, and how it was at any event."""
