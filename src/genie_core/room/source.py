"""Where connections come from, as far as it makes a difference."""

from typing import Final

LOOPBACK: Final = "loopback"
"""The host's own machine. Its connections need no invite: whoever works there has its files."""
