"""The client of a room: its connection, the sent frames, and the events that it receives."""
