"""Taking out of a text what looks like a key or a password.

What programs of others raise and log quotes requests, addresses and headers, with the credentials
in them. Their texts pass here before a person, a log or a model reads them. What is hidden is
decided by looks alone: rather a harmless word too many than a key. Each pattern begins where a word
does, so that the time it takes grows no faster than the text.
"""

import re
from functools import cache
from typing import Final

HIDDEN: Final = "[hidden]"

_BY_ITSELF: Final = r"""(?ix)
    \b(?: sk | pk | rk | gsk | xai | hf | pplx | tgp )[-_][\w*•.\-]{4,}  # well-known prefixes
    | \b(?: gh[opsu]_ | xox[a-z]- )[\w\-]{8,}
    | \bAIza[\w*•\-]{8,}
    | (?<![\w\-])eyJ[\w\-]+\.[\w.\-]+            # a JSON web token
    | \b(?: bearer | basic )\s+[\w+/=*.\-]{4,}
    | (?<=://)[^\s/?#"']+(?=@)          # user and password in an address
    | (?<![\w.%+\-])(?!(?: mailto | acct | sip ):)[\w.%+\-]+:[^\s:/@"'<>]+(?=@[\w\[])  # or without
    | (?<![\w\-])[\w\-]*[*•]{3,}[\w*•\-]*          # masked by the provider, with its beginning and end shown
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


def hide_secrets(text: str) -> str:
    """Return the text with `HIDDEN` in place of whatever looks like a secret."""
    text = _compiled(_BY_ITSELF).sub(HIDDEN, text)
    return _compiled(_BEHIND_ITS_NAME).sub(rf"\1{HIDDEN}", text)


@cache  # compiled when first needed: every start of a command imports this
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
