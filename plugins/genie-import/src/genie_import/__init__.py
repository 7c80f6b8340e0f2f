"""Other programs' conversations as saved rooms: a reader for each program, and one writer."""
