"""What a model is told in a run besides its agent's own prompt."""


def preferring(preferences: str) -> str:
    """Write a person's wishes as a paragraph of the instructions."""
    return f"How the user likes to be answered:\n{preferences}"
