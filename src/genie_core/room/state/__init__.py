"""The state of a room, folded from its events."""
