"""The chat: "search this chat for the invoice", "summarise the last 20 messages"."""

import re
from typing import Final

from genie_core.assistant.offline.ask import Ask, PlannedCall

_CHAT = r"(?:(?:this|the|our) )?(?:group )?(?:chat|conversation|discussion|messages|history|room)"
_ABOUT = r"(?:about|with|containing|that contain|mentioning|that mention|for|on)"
_SEARCHES: Final = [
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (rf"(?:search|look)(?: (?:in|through|at))? {_CHAT} for (?P<words>.+)", True),
        (rf"(?:search|look)(?: for)? (?P<words>.+?) in {_CHAT}", True),
        (rf"find (?:all |any |the )?messages {_ABOUT} (?P<words>.+)", True),
        (rf"find (?P<words>.+?) in {_CHAT}", True),
        (r"who (?:has )?(?:said|mentioned|wrote|talked about|spoke about) (?P<words>.+)", False),
        (r"(?:where|when) did \w+ (?:mention|say|write|discuss|talk about) (?P<words>.+)", False),
        (r"(?:search|find)(?: for)? (?!(?:me|us|out|a|an|my|your|someone)\b)(?P<words>.+)", False),
    )
]
_COUNTS: Final = {
    "five": 5, "ten": 10, "twenty": 20, "thirty": 30, "fifty": 50, "hundred": 100,
    "a hundred": 100, "few": 10,
}  # fmt: skip
_COUNT = rf"(?P<count>\d{{1,6}}|{'|'.join(_COUNTS)})"
_SUMMARISE = r"(?:summari[sz]e|recap|sum up|(?:give (?:me|us) )?(?:a |the )?(?:short |quick )?(?:summary|recap) of)"
_SUMMARIES: Final = [
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (
            (
                rf"{_SUMMARISE} (?:the |our )?(?:(?:last|latest|past|recent) )?(?:{_COUNT} )?"
                r"(?:recent )?messages(?: (?:in|of) (?:this|the|our) (?:chat|room))?"
            ),
            True,
        ),
        (rf"{_SUMMARISE} {_CHAT}(?: so far)?", True),
        (rf"(?:{_SUMMARISE}|summary|recap|tl;?dr)(?: (?:the )?last {_COUNT})?", False),
        (r"what (?:did|have) i miss(?:ed)?|(?:catch|bring) me up(?: to speed)?", False),
    )
]
_FILLER = re.compile(
    r"^(?:anything about|something about|the word|the phrase|about|the)\s+", re.IGNORECASE
)


def understand(ask: Ask) -> PlannedCall | None:
    """Recognise a request to search or summarise the chat."""
    for pattern, plain in _SUMMARIES:
        if found := pattern.fullmatch(ask.text):
            return PlannedCall("summarise_chat", _count(found.groupdict().get("count")), plain)
    for pattern, plain in _SEARCHES:
        if found := pattern.fullmatch(ask.text):
            words = _FILLER.sub("", found["words"]).strip()
            return PlannedCall("search_chat", {"words": _quoted(words)}, plain) if words else None
    return None


def _count(words: str | None) -> dict[str, int]:
    if words is None:
        return {}
    return {"count": _COUNTS.get(words.lower()) or max(1, int(words))}


def _quoted(words: str) -> str:
    """Replace any quotes around the whole text by those for an exact phrase."""
    whole = re.fullmatch(r"['\u2018\u201c\"`](.+)['\u2019\u201d\"`]", words)
    return f'"{whole.group(1)}"' if whole else words
