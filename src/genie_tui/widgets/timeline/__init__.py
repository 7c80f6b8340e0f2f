"""The timeline of a room: what was said, answered and noted, drawn line by line."""
