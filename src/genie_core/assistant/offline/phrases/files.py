"""The workspace: "list the files", "show me lines 3 to 9 of notes.md", "search the files for x"."""

import re
from typing import Any, Final

from genie_core.assistant.offline.ask import Ask, PlannedCall

_PATH = r"@?[`'\"]?(?P<path>[\w./-][\w./ -]*?)[`'\"]?"
_FOLDER = r"(?: (?:in|of|under|inside)(?: the)?(?: folder| directory)? [`'\"]?(?P<folder>[\w./ -]+?)[`'\"]?(?: folder| directory)?)?"
_LINES = r"lines? (?P<first>\d{1,6})(?:(?: ?- ?| to | through )(?P<last>\d{1,6}))?"
_WORKSPACE: Final = frozenset(("workspace", "the workspace", "this folder", "here", "the folder"))

_LISTS: Final = [
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:list|show)(?: me| us)?(?: all)?(?: of)?(?: the)? (?:files|documents|folders){_FOLDER}",
        rf"(?:what|which) (?:files|documents|folders) (?:are there|are|do (?:we|you) have){_FOLDER}",
        r"(?:list|show)(?: me| us)?(?: the)? (?P<folder>workspace)",
    )
]
_READS: Final = [
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (rf"show (?:me|us) {_LINES} (?:of|from|in)(?: the file)? {_PATH}", True),
        (rf"(?:show|read|print)(?: me| us)? {_LINES} (?:of|from|in)(?: the file)? {_PATH}", False),
        (rf"(?:what's|what is)(?: written)? in the file {_PATH}", True),
        (rf"show (?:me|us) the file {_PATH}(?:,? {_LINES})?", True),
        (
            rf"(?:read|show|open|print|display|cat)(?: me| us)?(?: the)?(?: file)? {_PATH}(?:,? {_LINES})?",
            False,
        ),
        (rf"(?:what's|what is) in {_PATH}", False),
    )
]
_SEARCHES: Final = [
    (re.compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (
            r"(?:search|grep|look)(?: in| through)?(?: all)?(?: of)?(?: the| our)? (?:files|documents|workspace) for (?P<text>.+)",
            True,
        ),
        (
            r"(?:search|find|grep|look)(?: for)? (?P<text>.+?) in (?:the |our )?(?:files|documents|workspace)",
            True,
        ),
        (r"which (?:files?|documents?) (?:contains?|mentions?) (?P<text>.+)", True),
        (r"grep (?:for )?(?P<text>\S+|\"[^\"]+\")(?: in (?P<folder>\S+))?", False),
    )
]


def understand(ask: Ask) -> PlannedCall | None:
    """Recognise a request to read, list or search files."""
    for pattern in _LISTS:
        if found := pattern.fullmatch(ask.text):
            return PlannedCall("list_files", _folder(found), plain=True)
    for pattern, plain in _SEARCHES:
        if found := pattern.fullmatch(ask.text):
            text = found["text"].strip("'\"`\u201c\u201d ")
            return (
                PlannedCall("search_files", {"text": text, **_folder(found)}, plain)
                if text
                else None
            )
    for pattern, plain in _READS:
        if (found := pattern.fullmatch(ask.text)) and _is_path(found["path"], ask.text):
            return PlannedCall("read_file", {"path": found["path"].strip(), **_lines(found)}, plain)
    return None


def _folder(found: re.Match[str]) -> dict[str, str]:
    folder = (found.groupdict().get("folder") or "").strip()
    return {"folder": folder} if folder and folder.lower() not in _WORKSPACE else {}


def _lines(found: re.Match[str]) -> dict[str, Any]:
    named = found.groupdict()
    if not named.get("first"):
        return {}
    first = int(named["first"])
    return {"first_line": first, "last_line": int(named["last"]) if named["last"] else first}


def _is_path(path: str, text: str) -> bool:
    """Return whether a noun is a file name: it has an extension or slash, or follows "file"."""
    named = re.search(rf"\bfile [`'\"]?{re.escape(path)}", text, re.IGNORECASE)
    return bool(named or re.search(r"\.\w{1,8}$|/", path.strip()))
