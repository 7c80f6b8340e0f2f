"""The timeline of a room: messages, answers and notes, drawn line by line."""
