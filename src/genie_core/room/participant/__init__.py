"""A joined room, with its engine, files, approvals and hosting."""
