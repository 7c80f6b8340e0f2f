"""Texts that people write for agents: AGENTS.md, skills and commands."""
