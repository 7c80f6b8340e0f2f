"""Reasoners of the ready-made assistant."""
