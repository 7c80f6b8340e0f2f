"""Tool servers that speak MCP: those of the settings' JSON file, and how they are."""
