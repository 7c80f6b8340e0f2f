"""A room as an ACP agent, so that an editor that speaks ACP shows it."""
