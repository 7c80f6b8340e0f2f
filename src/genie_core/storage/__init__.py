"""Files that survive crashes: journals, agent state, message logs."""
