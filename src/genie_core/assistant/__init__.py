"""The ready-made reasoner and agent: prompts, tools, model choice and the offline helper."""
