"""The effects of commands: a function for each, grouped by subject."""
