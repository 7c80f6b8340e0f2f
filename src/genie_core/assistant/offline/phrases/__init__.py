"""The requests that the offline helper understands, one module per kind."""
