"""A room that a person has joined, with their engine, files, approvals and hosting."""
