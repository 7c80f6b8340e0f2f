"""Saved rooms on disk: the event log, the room's metadata and the catalogue of folders."""
