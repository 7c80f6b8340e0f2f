"""`identifier`, under the name by which programs written for group-genie import it.

Its published examples do. Nothing else belongs here, and nothing of the engine uses it.
"""

from secrets import token_hex


def identifier() -> str:
    """Return a new random id of 32 hexadecimal digits."""
    return token_hex(16)
