"""A room as an MCP server, so that an agent that runs elsewhere is a member of it."""
