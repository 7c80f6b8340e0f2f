"""The client of a room: its connection, what it sends, and the events that it receives."""
