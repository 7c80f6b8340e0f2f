"""What commands do: a function for each, grouped by subject."""
