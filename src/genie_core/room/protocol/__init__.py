"""The protocol of a room: events, frames, names, addresses, limits, errors."""
