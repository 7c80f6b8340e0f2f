"""Sessions in files: writing them in several forms, and importing them."""
