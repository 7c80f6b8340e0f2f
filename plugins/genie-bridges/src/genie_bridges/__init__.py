"""Rooms in programs that speak a protocol of agents: an MCP server, and an ACP agent."""
