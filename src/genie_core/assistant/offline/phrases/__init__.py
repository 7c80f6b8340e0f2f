"""What the offline helper understands, one module per kind of request."""
