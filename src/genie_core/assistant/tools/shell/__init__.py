"""Running commands, and ending them."""
