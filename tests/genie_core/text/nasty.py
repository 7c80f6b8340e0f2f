"""Characters that a terminal obeys or hides."""

import unicodedata

from hypothesis import strategies as st

NASTY = st.sampled_from(
    "\x00\x07\x08\t\n\r\x1b\x7f\x85\x9b\u00ad\u061c\u115f\u180e\u200b\u200c\u200d\u200e\u200f"
    "\u2028\u2029\u202a\u202e\u2060\u2066\u2069\u3164\ufe00\ufe0e\ufe0f\ufeff\uffa0\ufff9\uffff"
    "\ud800\udfff\U000e0001\U000e0041\U000e0100\u0301\u20e3#1a字😀👩👍🏽❤\U0001f3fd"
)


def forbidden(character: str) -> bool:
    """An independent, stricter reading of the rule: by category instead of by list."""
    category = unicodedata.category(character)
    if character == "\n":
        return False
    if category == "Cf":  # but for visible signs that Arabic and Kaithi put before numbers
        return (
            character not in "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
            and (
                not 0x110BD <= ord(character) <= 0x110CD
                and not 0x13430 <= ord(character) <= 0x13440
            )
        )
    return category in {"Cc", "Cs", "Zl", "Zp"}
