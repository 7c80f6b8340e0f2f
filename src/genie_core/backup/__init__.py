"""A backup of a person's sessions, keys and settings, and its restoring."""
