"""Replaying recorded messages through another reasoner."""
