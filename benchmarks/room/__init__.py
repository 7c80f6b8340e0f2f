"""How fast a room passes messages on, with TLS and a disk, and what one who never reads changes."""
