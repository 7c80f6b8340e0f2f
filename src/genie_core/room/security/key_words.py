"""A public key as words, for two people to compare."""

from genie_core.room.protocol.errors import InvalidKey


def key_words(key: str) -> str:
    """Return the name of a key for display, or a word for none."""
    from genie_core.room.security.identity import words  # which loads the cryptography

    try:
        return words(key)
    except InvalidKey:
        return "no key" if not key else "no valid key"
