"""Taking keys and passwords out of a text, by their looks, and the secrets that are known.

Exceptions and logs of other programs quote requests, addresses and headers, with the credentials in
them. Their texts pass here before a person, a log or a model reads them. By looks, rather a
harmless word too many is hidden than a key. Each pattern begins where a word does, so that the time
it takes grows no faster than the text.

Which values are known is a matter of the process and not of a person or a room, on purpose: its log,
its tracebacks and its screen are, too, and those who write there know nothing of persons.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from genie_core.privacy.known_secrets import HIDDEN, DeltaMask, KnownSecrets

_BY_ITSELF: Final = r"""(?ix)
    \b(?: sk | pk | rk | gsk | xai | hf | pplx | tgp )[-_][\w*•….\-]{4,}  # well-known prefixes
    | \b(?: gh[opsu]_ | xox[a-z]- )[\w\-]{8,}
    | \bAIza[\w*•\-]{8,}
    | (?<![\w\-])eyJ[\w\-]+\.[\w.\-]+            # a JSON web token
    | \b(?: bearer | basic )\s+[\w+/=*.\-]{4,}
    | (?<=://)[^\s/?#"']+(?=@)          # user and password in an address
    | (?<![\w.%+\-])(?!(?: mailto | acct | sip ):)[\w.%+\-]+:[^\s:/@"'<>]+(?=@[\w\[])  # or without
    | (?<![\w\-])[\w\-]*[*•…]{3,}[\w*•…\-]*       # masked by the provider, with its beginning and end shown
    """

_BEHIND_ITS_NAME: Final = r"""(?ix)
    ( [?&][\w.\-]+=                     # any value in an address: who knows which one is a key
    | key=["']?
    | api[-_]?key["']?\s*[=:]\s*["']?
    | authorization["']?\s*[=:]\s*["']?(?: \w+\s+(?=[^\s"',}]) )?+  # whatever scheme it names
    | (?: token | secret | password | passwd | pwd )(?: ["']\s*: | \s*= )\s*["']?
    )
    (?!\[hidden\]) [^\s&"']+
    """


_ADDRESS: Final = r"""(?ix)
    \b[a-z][a-z0-9+.\-]{1,20}://[^\s"'<>]+         # an address with its scheme
    | (?<![\w.:])(?: \d{1,3}\. ){3}\d{1,3}(?: :\d{1,5} )?(?![\w.]*\w)
    | \[ [0-9a-f]*:[0-9a-f:]*:[^\]\s]* \](?: :\d{1,5} )?   # IPv6 in brackets
    | (?<![\w.:])(?: (?: [0-9a-f]{1,4}: ){3,7} | (?: [0-9a-f]{1,4}: )+: | :: )[0-9a-f][0-9a-f:.]*
    | (?<![\w.\-/])(?: localhost | [\w\-]+(?: \.[\w\-]+ )*
        \.(?! (?: c|cfg|cpp|css|csv|go|h|html|ini|java|js|json|log|md|py|rb|rs|sh|toml|ts|txt|ya?ml ): )[\w\-]+
      ):\d{2,5}\b                                  # a host with its port, but no line of a file
    | (?<![\w.\-/])(?: localhost | [\w\-]+(?: \.[\w\-]+ )*\.(?: local | internal | lan | corp | home ) )\b
    | (?<![\w.\-/~])(?: ~ | [a-z]: )?(?: [/\\][\w.@\-]+ ){2,}[/\\]?   # a path of the owner's machine
    """

ADDRESS: Final = "[address]"

_LARGEST_NUMBER: Final = 4096
"""Bits of a number that is looked into; writing down a larger one takes long, or is refused."""

_KNOWN: Final = KnownSecrets()


def hide_secrets(text: str) -> str:
    """Replace everything that looks like a secret, or is a known one, by `HIDDEN`."""
    text = _compiled(_BY_ITSELF).sub(HIDDEN, mask_known(text))
    return _compiled(_BEHIND_ITS_NAME).sub(rf"\1{HIDDEN}", text)


def hide_addresses(text: str) -> str:
    """Replace addresses, hosts with a port, and absolute paths by `ADDRESS`."""
    return _compiled(_ADDRESS).sub(ADDRESS, text)


def know(values: Iterable[str] | Mapping[str, str]) -> None:
    """Hide these values from now on; those of a mapping go by its keys.

    Values of less than `known_secrets.SHORTEST` characters are not hidden.
    """
    _KNOWN.know(values)


def mask_known(text: str) -> str:
    """Replace known secrets by `HIDDEN`, and nothing else."""
    return _KNOWN.mask(text)


def delta_mask() -> DeltaMask:
    """Return a `mask_known` for text that arrives in pieces."""
    return DeltaMask(_KNOWN)


def secrets_in(text: str) -> tuple[str, ...]:
    """Return the names of known secrets in a text."""
    return _KNOWN.names_in(text)


def mask_value(value: Any) -> Any:
    """Apply `mask_known` to all texts, keys and numbers of a JSON value."""
    if not _KNOWN:
        return value
    match value:
        case str():
            return mask_known(value)
        case bool() | None:
            return value
        case int() if value.bit_length() > _LARGEST_NUMBER:
            return value
        case int() | float():
            written = str(value)
            return value if mask_known(written) == written else mask_known(written)
        case dict():
            return {mask_value(key): mask_value(each) for key, each in value.items()}
        case list():
            return [mask_value(each) for each in value]
        case tuple():
            return tuple(mask_value(each) for each in value)
        case bytes():
            text = value.decode("utf-8", "surrogateescape")
            return mask_known(text).encode("utf-8", "surrogateescape")
        case _:
            return value


def put_back(edited: Any, original: Any) -> Any:
    """Undo `mask_value` in a person's version of the masked original.

    Where they changed a text with something hidden in it, that is put back as long as each `HIDDEN`
    is still there.
    """
    match edited, original:
        case dict(), dict():
            names = {mask_value(name): name for name in original}
            return {
                names.get(key, key): put_back(each, original[names[key]]) if key in names else each
                for key, each in edited.items()
            }
        case list(), list() if len(edited) == len(original):
            return [put_back(*pair) for pair in zip(edited, original, strict=True)]
        case str(), str():
            pieces = _KNOWN.found(original)
            between = edited.split(HIDDEN)
            if not pieces or len(between) != len(pieces) + 1:
                return edited
            return "".join(map("".join, zip(between, [*pieces, ""], strict=True)))
        case _:
            return original if edited == mask_value(original) else edited


@cache  # compiled when first needed: every start of a command imports this
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
