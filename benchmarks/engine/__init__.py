"""What a message costs a session, and whether that grows with the session's length."""
