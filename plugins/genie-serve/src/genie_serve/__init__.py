"""Rooms that stay up: many of them behind one port, without a screen."""
