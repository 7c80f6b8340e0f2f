"""Connections between a member and a host."""
