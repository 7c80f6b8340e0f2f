"""Reasoners asked about saved rooms: their decisions compared, and measured by labels."""
