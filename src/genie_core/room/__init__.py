"""The room: events, frames, a sans-I/O core, and thin shells for sockets and participants."""
