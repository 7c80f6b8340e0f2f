"""Names of people: which are allowed, and which are equal."""

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

from genie_core.room.protocol.errors import InvalidName
from genie_core.text.safe import BLANK

MAX_CELLS: Final = 32
"""Width of the longest name in terminal cells."""

MAX_POINTS: Final = 64
"""Most code points in a name; combining marks take no cells but do take space."""

LONGEST_RAW: Final = 4 * MAX_POINTS
"""Most code points to normalise, which takes quadratic time.

No allowed name is longer, even with all letters decomposed.
"""

MAX_MARKS: Final = 4
"""Most combining marks in a row; no living script needs more."""

_TOO_LONG: Final = f"it is longer than {MAX_CELLS} cells"

RESERVED: Final = frozenset({"system", "genie"})
"""Names that speak for the program itself."""

SUBJECTS: Final = frozenset(
    {"you", "me", "us", "host", "co-host", "room", "service", "agent", "agents", "reasoner"}
    | {"everyone", "everybody", "anyone", "anybody", "someone", "somebody", "all"}
    | {"no-one", "nobody", "none", "unknown"}
)
"""Words that the program shows or reads in a name's place; rooms of before may have such names."""

_FORBIDDEN: Final = {
    "Cc": "it contains a control character",
    "Cf": "it contains an invisible character",
    "Cs": "it contains half a character",
    "Co": "it contains a private-use character",
    "Cn": "it contains a character that is not assigned",
    "Zl": "it contains a line separator",
    "Zp": "it contains a paragraph separator",
    "Zs": "it contains a space, so it could not be mentioned",
}
"""Letters and marks that fonts draw as nothing."""

_LOOKS_LIKE: Final = str.maketrans(
    "авгеіјкмнорѕстухһԁӏпѵьԛԝԍү"  # Cyrillic
    "αβγεηικνορστυχωϲϳ"  # Greek
    "ցհոռսօզյ"  # Armenian
    "ᎠᎡᎢᎥᎪᎫᎬᎳᎷᎻᎽᏀᏃᏏᏒᏔᏕᏙᏚᏞᏟᏢᏦᏴᏂᏆᎩ"  # Cherokee
    "ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ"  # Lisu
    "ıɡɩɢøłđħ",  # Latin that no decomposition leads back
    "abreijkmhopsctyxhdlnvbqwgy"
    "abyenikvopotuxwcj"
    "ghnnuoqj"
    "drtiajewmhygzbrwsvslcpkbhiy"
    "bpdtgkjczfmnlsrvhwxyaeiou"
    "igigoldh",
)
"""Letters that look like Latin ones after case folding."""

_ALIKE: Final = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "m": "rn"})
"""ASCII characters that look alike after case folding."""

_LATIN_FORM: Final = re.compile(
    r"(?:LATIN|REGIONAL|NEGATIVE) .*\bLETTER (?!SHARP)(?:[A-Z-]+ )*?([A-Z])(?: WITH .*)?"
)
"""Names of forms of Latin letters, such as small capitals; many have no decomposition."""

_MARK: Final = "\u200e"

_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Cs", "Mn", "Me", "Zl", "Zp", "Zs"})
"""Categories that show nothing by themselves: a mark needs a letter."""

_TOGETHER: Final = frozenset(
    {"LATIN", "CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HANGUL", "BOPOMOFO"}
    | {"IDEOGRAPHIC"}
)
"""Scripts that are written together and don't look alike; other mixtures are not allowed."""


def check_name(raw: str) -> str:
    """Normalise a name (NFC, trimmed).

    Raises:
        InvalidName: it is not allowed; the error says why.
    """
    trimmed = raw.strip()
    if len(trimmed) > LONGEST_RAW:
        raise InvalidName(f"{trimmed[:MAX_CELLS]}…", _TOO_LONG)
    name = unicodedata.normalize("NFC", trimmed)
    why = _fault(name)
    if why is not None:
        raise InvalidName(trimmed, why)
    return name


def is_name(text: str) -> bool:
    """Whether a person can have exactly this name."""
    try:
        return check_name(text) == text
    except InvalidName:
        return False


def fold_name(name: str) -> str:
    """Return the form in which two names that a reader could confuse are equal.

    Text that is too long for a name is unchanged.
    """
    return _fold(name) if len(name) <= LONGEST_RAW else name


@lru_cache(maxsize=4096)
def _fold(name: str) -> str:
    # Some lookalikes decompose into letters that look different, so they are replaced first.
    folded = unicodedata.normalize("NFKD", name.casefold().translate(_LOOKS_LIKE))
    bare = "".join(char for char in folded.casefold() if not _is_accent(char))
    return unicodedata.normalize("NFKC", bare.translate(_LOOKS_LIKE))


def skeletons(name: str) -> frozenset[str]:
    """Return the forms of a name; two names that share one could be confused.

    Wider than `fold_name`, which identifies people and never changes: this is for names that are
    new in a room. Source: the skeleton of UTS #39, without case, accents and punctuation, and with
    1, l and i all alike. Text that is too long for a name is unchanged.
    """
    return _skeletons(name) if len(name) <= LONGEST_RAW else frozenset({name})


@lru_cache(maxsize=4096)
def _skeletons(name: str) -> frozenset[str]:
    forms = (name, name.casefold(), fold_name(name), "".join(map(_latin_letter, name)))
    return frozenset(_skeleton(form) for form in forms)


def _latin_letter(char: str) -> str:
    """Return the Latin letter that a character is a form of; others unchanged."""
    form = None if char.isascii() else _LATIN_FORM.fullmatch(unicodedata.name(char, ""))
    return form[1].lower() if form else char


def is_reserved(name: str) -> bool:
    """Whether a reader could take a new name for the program, or for a word of its own."""
    if fold_name(name) in SUBJECTS:
        return True
    words = RESERVED | SUBJECTS - {"all"}  # which "Ali" looks like only by the rules of skeletons
    return any(skeletons(name) & skeletons(each) for each in words)


def check_new_name(raw: str) -> str:
    """Normalise the name of a person who is new.

    Raises:
        InvalidName: it is not allowed, or reads like a word of the program.
    """
    name = check_name(raw)
    if is_reserved(name):
        raise InvalidName(name, "it reads like a word of the program; choose another with --name")
    return name


def is_blank(text: str) -> bool:
    """Whether a text has no visible character."""
    return all(
        char.isspace() or char in BLANK or unicodedata.category(char) in _UNSEEN for char in text
    )


def _skeleton(name: str) -> str:
    alike = "".join(map(_prototype, unicodedata.normalize("NFKD", name))).casefold()
    decomposed = unicodedata.normalize("NFKD", "".join(map(_prototype, alike)))
    letters = "".join(char for char in decomposed if not _is_accent(char))
    bare = "".join(char for char in letters if not _is_separator(char))
    return (bare or letters).translate(_ALIKE)


def _prototype(char: str) -> str:
    """Return the common form of look-alike characters, maybe several letters."""
    if char.isascii():
        return char
    alike = _confusables().get(char, ())
    if several := next((each for each in alike if len(each) > 1), ""):
        return several
    if len(alike) != 1:
        return char
    (other,) = alike
    stands_for_more = other.isascii() or len(_confusables().get(other, ())) > 1
    return other if stands_for_more else min(char, other)


@cache
def _confusables() -> dict[str, list[str]]:
    """Map each prototype to its look-alikes, and each look-alike to its prototype.

    Loaded at first use, which most rooms never need. The package wraps right-to-left text in marks.
    """
    from confusable_homoglyphs.confusables import confusables_data

    return {
        char.strip(_MARK): [each["c"].strip(_MARK) for each in alike]
        for char, alike in confusables_data.items()
    }


def _is_separator(char: str) -> bool:
    return unicodedata.category(char)[0] in "PZC" or (
        unicodedata.category(char) in ("Sk", "Lm") and "\u02b0" <= char <= "\u02ff"
    )


def cells(text: str) -> int:
    """Return the maximum of terminal cells that a text takes."""
    return sum(_width(char) for char in text)


def _fault(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name) > MAX_POINTS or cells(name) > MAX_CELLS:
        return _TOO_LONG
    for char in name:
        if why := _FORBIDDEN.get(unicodedata.category(char)):
            return why
        if char in BLANK or _selects_a_variant(char):
            return "it contains an invisible character"
    if name[0] in "@/":
        return f"it starts with {name[0]}"
    if unicodedata.category(name[0]).startswith("M"):
        return "it starts with a combining mark"
    if any(len(marks) > MAX_MARKS for marks in _stacks(name)):
        return f"it has more than {MAX_MARKS} marks on one letter"
    if fold_name(name) in RESERVED:
        return "it is reserved for the program"
    if len(scripts := _scripts(name)) > 1 and not scripts <= _TOGETHER:
        return f"it mixes letters that can be confused ({', '.join(sorted(scripts)).lower()})"
    return None


def _stacks(name: str) -> list[str]:
    """Return the runs of combining marks."""
    kinds = "".join("M" if unicodedata.category(char)[0] == "M" else " " for char in name)
    return kinds.split()


def _scripts(name: str) -> set[str]:
    """Return the scripts of the letters: the first word of their Unicode names."""
    letters = (
        char
        for char in unicodedata.normalize("NFKC", name)
        if unicodedata.category(char)[0] == "L" and unicodedata.category(char) != "Lm"
    )
    return {unicodedata.name(char, "unknown").split()[0] for char in letters}


def _is_accent(char: str) -> bool:
    """Whether a mark is an accent; vowel signs and tones of other scripts are not."""
    return unicodedata.combining(char) == 1 or unicodedata.combining(char) >= 200


def _selects_a_variant(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
