"""Default limits of a model's work for an agent or a reasoner; settings can change them."""

from typing import Final

STALL_TIMEOUT: Final = 120.0
"""Seconds without text from an agent's model, before or within an answer."""

DECISION_TIMEOUT: Final = 120.0
"""Seconds for a reasoner's decision, retries included: people wait for it."""

MAX_TURNS: Final = 50
"""How often a model may answer with tool calls in one run."""
