"""Calculations: "what is 12 * 7?", "how much is 15% of 80", "calculate the square root of 2"."""

import re
from typing import Final

from genie_core.assistant.offline.ask import Ask, PlannedCall
from genie_core.assistant.tools.calculate import CONSTANTS, FUNCTIONS, is_calculation

_ASKED = re.compile(
    r"(?:what(?:'s| is|s| does)|how much (?:is|are|does)|calculate|compute|evaluate|work out|solve)"
    r"\s+(?P<sum>.+?)(?:\s+(?:equals?|make|come to))?\s*=?",
    re.IGNORECASE,
)
_NOT_A_CALCULATION = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}|\+?\d{2,4}(?:[- ]\d{2,4}){2,}|\d{3}-\d{4}|24/7"
)
"""Dates, telephone numbers, and a figure of speech."""

_WORDS: Final = (
    (r"\bto the power of\b", "**"),
    (r"\bmultiplied by\b|\btimes\b", "*"),
    (r"\bdivided by\b", "/"),
    (r"\bplus\b", "+"),
    (r"\bminus\b", "-"),
    (r"\bmod(?:ulo)?\b", "%"),
    (r"\bpercent\b|\bper cent\b", "%"),
    (r"\bsquared\b", "**2"),
    (r"\bcubed\b", "**3"),
    (r"(?<=\d)\s*x\s*(?=\d)", "*"),
    (r"\b(?:the )?square root of ([\d.]+)", r"sqrt(\1)"),
    (r"\b(?:the )?cube root of ([\d.]+)", r"cbrt(\1)"),
    (r"\bthe (?=[a-z])", ""),
)
_REWRITES: Final = [(re.compile(words, re.IGNORECASE), sign) for words, sign in _WORDS]
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_NAMES = re.compile(r"[a-z]\w*", re.IGNORECASE)


def understand(ask: Ask) -> PlannedCall | None:
    """Recognise a calculation, with or without words around it."""
    asked = _ASKED.fullmatch(ask.text)
    expression = _expression(asked["sum"] if asked else ask.text)
    if expression is None:
        return None
    return PlannedCall("calculate", {"expression": expression}, plain=asked is not None)


def _expression(words: str) -> str | None:
    if _NOT_A_CALCULATION.fullmatch(words.strip()):
        return None
    text = words
    for pattern, sign in _REWRITES:
        text = pattern.sub(sign, text)
    names = {name.lower() for name in _NAMES.findall(text)} - {"of"}
    if not names <= FUNCTIONS | CONSTANTS:
        return None
    if not names & FUNCTIONS:
        text = _THOUSANDS.sub(lambda number: number.group().replace(",", ""), text)
    text = re.sub(r"[A-Za-z]+", lambda name: name.group().lower(), text).strip()
    return text if is_calculation(text) else None
