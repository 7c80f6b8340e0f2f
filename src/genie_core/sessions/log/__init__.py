"""The event log of a session: writing, reading, indexing and copying it."""
