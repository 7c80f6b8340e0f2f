"""The vocabulary of a room: events, frames, names, addresses, limits, errors."""
