"""A saved room as something to read: what happened, told in several forms."""
