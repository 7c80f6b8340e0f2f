"""Actions: "write buy milk to notes.md", "run git status", "fetch https://example.org".

The whole message must be the request. Content and commands are taken verbatim, since any changed
character can alter their meaning.
"""

import re
from typing import Final

from genie_core.assistant.offline.ask import PlannedCall, without_opening

_ENDING = re.compile(
    r"(?:,\s*(?:please|pls|thanks|thank you|thx|genie)|\s+(?:please|pls))[.!?]*$", re.IGNORECASE
)
_QUOTES: Final = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019"}
_WRITES = re.compile(
    r"(?:write|save)\s+(?!(?:me|us)\s|(?:it|this|that|them)\s+(?:to|into|in|as)\s)"
    r"(?P<text>\S.*?)\s+(?:to|into|in|as)\s+(?:(?:the |a )?(?:new )?(?P<file>file )(?:called )?)?"
    r"(?P<path>[`'\"][^`'\"\n]+[`'\"]|[^\s`'\"@]+)",
    re.IGNORECASE | re.DOTALL,
)
_RUNS = re.compile(
    r"(?:run|execute)\s+(?:the (?:command|program):?\s+)?(?P<command>[\w./~`'\"].*)", re.IGNORECASE
)
_NO_PROGRAM = re.compile(
    r"(?:the|an?|this|that|these|those|it|them|my|your|our|me|us|some|all|every\w*|"
    r"for|to|away|out|into|along|by|with|through)(?:\s|[.,!?]?$)",
    re.IGNORECASE,
)
"""Words after "run" that name no program."""

_FETCHES = re.compile(
    r"(?P<verb>fetch|get|open|read|show (?:me|us))\s+(?:the )?(?:(?:web ?)?page |site )?(?:at )?"
    r"<?(?P<url>https?://[^\s<>]+)>?[.!?]*",
    re.IGNORECASE,
)


def understand(text: str) -> PlannedCall | None:
    """Recognise a request to write a file, run a program or read a web page."""
    text = _ENDING.sub("", without_opening(text.strip()))
    return _write(text) or _run(text) or _fetch(text)


def _write(text: str) -> PlannedCall | None:
    found = _WRITES.fullmatch(text)
    if found is None:
        return None
    path = _unquoted(found["path"]) or found["path"].rstrip(".,!?")
    if not (found["file"] or re.search(r"\.\w{1,8}$|/", path)):
        return None
    quoted = _unquoted(found["text"])
    content = quoted or found["text"]
    if not content.endswith("\n"):
        content += "\n"
    return PlannedCall("write_file", {"path": path, "content": content}, plain=quoted is not None)


def _run(text: str) -> PlannedCall | None:
    found = _RUNS.fullmatch(text)
    if found is None:
        return None
    command = found["command"].strip()
    if command[0] == "`":
        code = _unquoted(command.rstrip(".!?"))
        return PlannedCall("run_command", {"command": code}, plain=True) if code else None
    if _NO_PROGRAM.match(command):
        return None
    return PlannedCall("run_command", {"command": re.sub(r"(?<=\w)[.!?]$", "", command)})


def _fetch(text: str) -> PlannedCall | None:
    found = _FETCHES.fullmatch(text)
    if found is None:
        return None
    plain = found["verb"].lower() == "fetch"
    return PlannedCall("fetch_url", {"url": found["url"].rstrip(".,;:!?")}, plain)


def _unquoted(text: str) -> str | None:
    """Return the text inside quotes, None without quotes."""
    closing = _QUOTES.get(text[0])
    inside = text[1:-1]
    return inside if closing and len(text) > 2 and text[-1] == closing else None
