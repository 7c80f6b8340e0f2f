"""Export sessions in several formats, and import them."""
