"""Search over all sessions, and in an open room."""
