"""Reading web pages."""
