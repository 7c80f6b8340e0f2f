"""Replay a session: its landmarks, and its state at any event."""
