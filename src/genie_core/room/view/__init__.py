"""Events, approvals, agents and costs of a room in words; all of it plain text."""
