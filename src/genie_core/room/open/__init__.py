"""Opening rooms on this machine: hosting, joining, and the engine that a person brings."""
