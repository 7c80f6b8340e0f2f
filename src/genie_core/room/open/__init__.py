"""Open rooms on this machine: host or join them, with the person's engine."""
