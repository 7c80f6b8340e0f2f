"""Tell by the bytes of a log which parts of it can't contain a text, without parsing them."""

import re
from collections.abc import Callable
from typing import Final

_PLAIN: Final = re.compile(r"[ !#-\[\]-~]+")
"""Characters that JSON writes as they are."""

_FOLDED: Final = {
    char: {each for each in char.casefold() if each.isascii()}
    for char in "ßİŉſǰẖẗẘẙẚẞ\N{KELVIN SIGN}ﬀﬁﬂﬃﬄﬅﬆ"
}
"""The other characters that become ASCII when case is ignored, and their results."""


def may_contain(wanted: str) -> Callable[[bytes], bool]:
    """Return a test for lines of a log: where it fails, no text contains the case-folded one."""
    key = max(_PLAIN.findall(wanted), key=len, default="")
    if not key:
        return lambda _: True
    needle = key.encode()
    others = [char.encode() for char, becomes in _FOLDED.items() if becomes & {*key}]

    def test(lines: bytes) -> bool:
        if needle in lines.lower() or rb"\u" in lines:
            return True
        return not lines.isascii() and any(other in lines for other in others)

    return test
