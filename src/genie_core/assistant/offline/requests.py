"""Reading a message as one request for a tool, by a table of patterns over plain English."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from genie_core.assistant.tools.calculate import is_calculation

MAX_CHARS: Final = 2_000
"""A longer message is no request."""


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """The tool call for a request."""

    tool: str
    args: dict[str, Any] = field(default_factory=dict)


_OPENING: Final = re.compile(
    r"\A(?:(?:hey|hi|hello|ok|so|please|genie)\b[,:;!.]*\s+|(?:can|could|would) you\s+)*+",
    re.IGNORECASE,
)
_ENDING: Final = re.compile(
    r"(?:(?<=[^\s.?!])[.?!]*)?(?:,?\s+(?:please|thanks)[.?!]*)?$", re.IGNORECASE
)
"""No lone dot is removed: it is the folder in `run git add .`."""

_OPEN, _CLOSE = "['\"`\u2018\u201c]", "['\"`\u2019\u201d]"
_PATH = rf"{_OPEN}?(?P<path>(?<={_OPEN})[^`'\"\n]+(?={_CLOSE})|[\w./-]*[\w/]){_CLOSE}?"
_IS_FILE = rf"(?:(?:the |a )?(?:new )?file (?:called )?|(?=\S*[./]\w|{_OPEN}))"
_TO_FILE = rf"(?:to|into|in|as) {_IS_FILE}{_PATH}"
_NO_PRONOUN = r"(?!(?:me|us|it|this|that|them)\s)"
_LINES = r"lines? (?P<first_line>\d{1,6})(?:(?:\s*-\s*| to )(?P<last_line>\d{1,6}))?"
_RUN = r"(?:run|execute) (?:the (?:command|program) )?"
_NO_PROGRAM = (
    r"(?!(?:the|an?|this|that|it|them|my|your|our|me|us|some|all|every\w*|for|to|away|out|into|"
    r"by|with|through)(?:\s|$))"
)
_URL = r"<?(?P<url>https?://[^\s<>]+)>?"
_FILES = r"(?:the |our )?(?:files|documents|workspace)"
_IN_FOLDER = r"(?: in (?:the )?(?:folder )?(?:workspace|here|(?P<folder>[\w./-]+)))?"
_CHAT = r"(?:(?:this|the|our) )?(?:chat|conversation|discussion|messages|history|room)"
_SUMMARISE = r"(?:summari[sz]e|recap|(?:give (?:me|us) )?a (?:short )?summary of)"
_LAST = r"(?:the )?(?:last |latest )?(?:(?P<count>\d{1,6}) )?messages"

_Table: TypeAlias = list[tuple[str, re.Pattern[str]]]
"""Tools, and patterns with groups named as their arguments."""


def _table(*rows: tuple[str, str]) -> _Table:
    flags = re.IGNORECASE | re.DOTALL
    return [(tool, re.compile(words.replace(" ", r"\s+"), flags)) for tool, words in rows]


_PLAIN: Final = _table(
    ("write_file", rf"(?:write|save) {_OPEN}(?P<content>.+){_CLOSE} {_TO_FILE}"),
    ("run_command", rf"{_RUN}`(?P<command>[^`\n]+)`"),
    ("fetch_url", rf"fetch (?:the page )?(?:at )?{_URL}"),
    ("list_files", rf"(?:list|show)(?: me)?(?: all)?(?: the)? files{_IN_FOLDER}"),
    ("list_files", rf"(?:what|which) files are(?: there)?{_IN_FOLDER}"),
    ("search_files", rf"(?:search|look)(?: in| through)? {_FILES} for (?P<text>.+)"),
    ("search_files", rf"(?:search|find)(?: for)? (?P<text>.+?) in {_FILES}"),
    ("search_files", r"which (?:files|documents) (?:contain|mention) (?P<text>.+)"),
    ("read_file", rf"show (?:me|us) {_LINES} of {_PATH}"),
    ("read_file", rf"(?:show (?:me|us)|what(?:.s| is) in) the file {_PATH}"),
    ("summarise_chat", rf"{_SUMMARISE} (?:{_LAST}|{_CHAT})(?: so far)?"),
    ("search_chat", rf"(?:search|look)(?: in| through)? {_CHAT} for (?P<words>.+)"),
    ("search_chat", rf"(?:search|look|find)(?: for)? (?P<words>.+?) in {_CHAT}"),
    ("search_chat", r"find (?:all |the )?messages (?:about|with) (?:the )?(?P<words>.+)"),
    ("calculate", r"(?:what(?:.s| is)|how much is|calculate) (?P<expression>.+?)\s*=?"),
)
_ADDRESSED: Final = _table(
    ("write_file", rf"(?:write|save) {_NO_PRONOUN}(?P<content>\S.*?) {_TO_FILE}"),
    ("run_command", rf"{_RUN}{_NO_PROGRAM}(?P<command>[\w./~][^\n]*)"),
    ("fetch_url", rf"(?:get|open|read|show me) {_URL}"),
    ("search_files", r"grep (?:for )?(?P<text>\S+)"),
    ("read_file", rf"(?:read|show|open|print|cat) {_IS_FILE}{_PATH}(?:,? {_LINES})?"),
    ("summarise_chat", r"summari[sz]e|summary|recap|tl;?dr|what did i miss"),
    ("search_chat", r"(?:search(?: for)?|who (?:said|mentioned|wrote)) (?P<words>.+)"),
    ("calculate", r"(?P<expression>.+)"),
)
_SIGNS: Final = {" plus ": " + ", " minus ": " - ", " times ": " * ", " divided by ": " / "}
_NOT_A_CALCULATION: Final = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}/\d{1,2}/\d{2,4}|\+?\d{2,4}(?:[- ]\d{2,4}){2,}|\d{3}-\d{4}|24/7"
)
"""Dates, telephone numbers, and a figure of speech."""


def plain_request(text: str, tools: Collection[str]) -> PlannedCall | None:
    """Return the call that an unaddressed message plainly asks for, if it is for one of `tools`.

    Among people, silence is the better mistake.
    """
    call = _match(_PLAIN, text)
    return call if call and call.tool in tools and "\n" not in text.strip() else None


def request_in(text: str) -> PlannedCall | None:
    """Return the call that a message to the helper asks for, also one whose tool is unavailable.

    The request is the whole message, verbatim: one changed character can alter a command.
    """
    return _match(_PLAIN + _ADDRESSED, text)


def _match(table: _Table, text: str) -> PlannedCall | None:
    if len(text) > MAX_CHARS:
        return None
    request = _ENDING.sub("", _OPENING.sub("", text.strip(), count=1))
    for tool, pattern in table:
        if found := pattern.fullmatch(request):
            groups = sorted(found.groupdict().items(), key=lambda group: group[0] == "content")
            args = {name: _argument(name, value) for name, value in groups if value}  # path first
            if "first_line" in args:
                args.setdefault("last_line", args["first_line"])
            if tool != "calculate" or _is_calculation(args["expression"]):
                return PlannedCall(tool, args)
    return None


def _argument(name: str, text: str) -> Any:
    if name == "expression":
        return re.sub("|".join(_SIGNS), lambda found: _SIGNS[found.group()], text)
    if name in ("count", "first_line", "last_line"):
        return int(text)
    return f"{text}\n" if name == "content" and not text.endswith("\n") else text


def _is_calculation(expression: str) -> bool:
    return is_calculation(expression) and not _NOT_A_CALCULATION.fullmatch(expression)
