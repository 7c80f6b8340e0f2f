"""The commands of a room: one table for every surface, with parsers, help and effects."""
