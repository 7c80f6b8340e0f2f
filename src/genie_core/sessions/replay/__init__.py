"""Replaying a session: what is where in its log, and how the room was at any event."""
