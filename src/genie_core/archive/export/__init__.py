"""A saved room as one file that can be carried elsewhere and read back in."""
