"""Telling by its output that a command asks for input, which it does not get."""

import re
from typing import Final

_LOOKED_AT: Final = 2_000
"""Characters at the end of the output that are looked at."""

_QUESTION: Final = re.compile(
    r"[\[(]y(?:es)?(?:/|\|)no?[\])]|\bpass(?:word|phrase)\b.{0,80}:|\busername\b.{0,80}:"
    r"|\bpress (?:enter|return|any key)\b|\bare you sure\b|\bcontinue\b.{0,20}\?|\?",
    re.IGNORECASE,
)
_ENDS: Final = tuple("?:>])…")
"""How a line ends after which a program waits for input."""

_NO_INPUT: Final = re.compile(
    r"EOF when reading a line|not a tty\b|not a terminal\b|terminal is required|/dev/tty"
    r"|could not read (?:Username|Password)|requires? (?:an interactive|a) terminal"
    r"|input device is not|non-interactive|prompts? (?:have been )?disabled",
    re.IGNORECASE,
)


_TRACEBACK: Final = "Traceback (most recent call last):"
"""Python prints this on the line of the question that got no answer."""


def question_in(output: str) -> str:
    """Return the last line if it is a question that nothing follows, else an empty string."""
    last = output[-_LOOKED_AT:].rpartition("\n")[2].rpartition("\r")[2].strip()
    return last[-200:] if last.endswith(_ENDS) and _QUESTION.search(last[-200:]) else ""


def missed_input(output: str) -> str:
    """Return the line by which a failed command says that it lacked input, else an empty string."""
    lines = output[-_LOOKED_AT:].splitlines()
    told = next((line for line in reversed(lines) if _NO_INPUT.search(line)), "").strip()[:200]
    asked = question_in(output.rpartition(_TRACEBACK)[0]) if told else ""
    return question_in(output) or asked or told
