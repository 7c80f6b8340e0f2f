"""Parsing of the arguments of commands.

All functions are pure. A reader of arguments raises `InvalidArguments`, whose text names the
missing part.
"""

import re
import shlex
from dataclasses import dataclass
from typing import Final

from genie_core.room.engine.restart_backlog import BacklogChoice
from genie_core.room.protocol.events import Measure, Role

DEFAULT_QUOTED: Final = 50
"""Messages of another room that are quoted unless the command says how many."""

MOST_QUOTED: Final = 200
"""Messages of another room that can be quoted together."""

MOST_DIGITS: Final = 15
"""Digits of a number of a message."""

MOST_DOLLARS: Final = 10_000
MOST_TOKENS: Final = 1_000_000_000

_ROLES: Final[dict[str, Role]] = {
    "host": "host",
    "member": "member",
    "guest": "guest",
    "observer": "observer",
}
_CHOICES: Final[dict[str, BacklogChoice]] = {"all": "all", "latest": "latest", "none": "none"}
_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_POWERS: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_AMOUNT: Final = re.compile(
    r"\+\s*(?P<dollar>\$)?\s*(?P<number>[0-9]{1,9}(?:\.[0-9]{1,4})?)(?P<power>[km])?"
    r"\s*(?P<unit>tok|tokens?)?",
    re.ASCII,
)
_SPAN: Final = re.compile(r"(?P<count>[0-9]{1,6})(?P<unit>[smhd])", re.ASCII)
_LAST: Final = re.compile(r"(?P<room>.*?)\s+last\s+(?P<count>[0-9]{1,6})", re.ASCII | re.DOTALL)


class InvalidArguments(Exception):
    """The arguments of a command are invalid."""


@dataclass(frozen=True, slots=True)
class MessageLine:
    """A message to send, with `to` privately."""

    text: str
    emote: bool = False
    to: str = ""
    quiet: bool = False

    @property
    def draft(self) -> str:
        """The input that is parsed to this message."""
        if self.to:
            return f"/msg {self.to} {self.text}"
        if self.emote:
            return f"/me {self.text}"
        if self.quiet:
            return f"/quiet {self.text}"
        return f"/{self.text}" if self.text.startswith("/") else self.text


@dataclass(frozen=True, slots=True)
class PrivateLine:
    """A private message to a member; without a text, the next message is one."""

    to: str
    text: str


@dataclass(frozen=True, slots=True)
class Numbered:
    """The number of a message, an answer, a tool call or a join request, and a text."""

    number: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class InviteOptions:
    """The invite to show or make; a `new` one voids all others. `lifetime` is in seconds.

    One that gives a `role` is for a single use.
    """

    new: bool = False
    once: bool = False
    lifetime: float | None = None
    role: Role | None = None

    @property
    def makes_one(self) -> bool:
        return self.new or self.once or self.lifetime is not None

    @property
    def uses(self) -> int | None:
        return 1 if self.once else None


@dataclass(frozen=True, slots=True)
class ModerationRequest:
    """A measure of the host against a member."""

    measure: Measure
    name: str
    role: Role | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class HeirsRequest:
    """Who may host in the host's place, in order; `automatic`: the program keeps the list.

    With `show`, the order as it is.
    """

    names: tuple[str, ...] = ()
    automatic: bool = False
    show: bool = False


@dataclass(frozen=True, slots=True)
class SaveRequest:
    """A file of the room to save, by number in a message or by name, and the target.

    Empty values stand for the newest file and the downloads folder.
    """

    file: str = ""
    to: str = ""


@dataclass(frozen=True, slots=True)
class QuoteRequest:
    """The saved room to quote, and the number of its last messages."""

    room: str
    last: int = DEFAULT_QUOTED


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """A mode, or an option of an agent program and its value; both may be empty."""

    name: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class BudgetRaise:
    """An increase of this session's budget, in US dollars or tokens."""

    money: float = 0.0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class PromptLine:
    """A prompt of a tool server to use, with its arguments."""

    server: str
    name: str
    words: tuple[str, ...] = ()


def read_prompt(command: str, rest: str) -> PromptLine:
    """`SERVER:PROMPT [ARGUMENTS]`, in order or as `name=value`."""
    server, _, name = command.partition(":")
    return PromptLine(server, name, tuple(_words(rest)))


def read_private(rest: str) -> PrivateLine:
    """`NAME [TEXT]`."""
    return PrivateLine(*_name_and_more(rest))


def read_private_text(rest: str) -> PrivateLine:
    """`NAME TEXT`."""
    line = read_private(rest)
    return PrivateLine(line.to, read_needed_text(line.text))


def read_needed_text(rest: str) -> str:
    """`TEXT`, as it was typed."""
    if not rest:
        raise InvalidArguments("the text is missing")
    return rest


def read_quiet(rest: str) -> MessageLine:
    """`TEXT`, to be sent like any other message."""
    return MessageLine(read_needed_text(rest), quiet=True)


def read_number(rest: str) -> int:
    """`N`: the number of a message, an answer, a tool call or a join request."""
    if not rest.isdecimal() or len(rest) > MOST_DIGITS:
        raise InvalidArguments("say which number, as in brackets before an entry")
    return int(rest)


def read_optional_number(rest: str) -> int:
    """`[N]`; 0 without one."""
    return read_number(rest) if rest else 0


def read_numbered(rest: str) -> Numbered:
    """`N [TEXT]`."""
    number, text = (*rest.split(maxsplit=1), "", "")[:2]
    return Numbered(read_number(number), text)


def read_numbered_text(rest: str) -> Numbered:
    """`N TEXT`."""
    numbered = read_numbered(rest)
    return Numbered(numbered.number, read_needed_text(numbered.text))


def read_text(rest: str) -> str:
    """`[TEXT]`, as it was typed."""
    return rest


def read_invite(rest: str) -> InviteOptions:
    """`[--new] [--once] [--for 1h] [--as ROLE]`, in any order."""
    words = iter(rest.split())
    new = once = False
    lifetime = role = None
    for word in words:
        match word.lower():
            case "--new":
                new = True
            case "--once":
                once = True
            case "--for":
                lifetime = read_span(next(words, ""))
            case "--as":
                role, once = _role(next(words, "")), True
            case _:
                raise InvalidArguments(f"it does not know {word}")
    return InviteOptions(new, once, lifetime, role)


def read_heirs(rest: str) -> HeirsRequest:
    """`auto`, `none` or names; nothing shows the order."""
    words = rest.split()
    match [word.lower() for word in words]:
        case []:
            return HeirsRequest(show=True)
        case ["auto"]:
            return HeirsRequest(automatic=True)
        case ["none"]:
            return HeirsRequest()
    return HeirsRequest(tuple(word.strip(",").removeprefix("@") for word in words))


def read_reasoned(measure: Measure, rest: str) -> ModerationRequest:
    """`NAME [why]`."""
    name, reason = _name_and_more(rest)
    return ModerationRequest(measure, name, reason=reason)


def read_measure(measure: Measure, rest: str) -> ModerationRequest:
    """`NAME`."""
    return ModerationRequest(measure, read_name(rest))


def read_role(rest: str) -> ModerationRequest:
    """`NAME host|member|guest|observer`."""
    name, word = _name_and_more(rest)
    return ModerationRequest("role", name, _role(word))


def read_switch(rest: str) -> bool:
    """`on` or `off`."""
    if rest.lower() not in ("on", "off"):
        raise InvalidArguments("say on or off")
    return rest.lower() == "on"


def read_job(rest: str) -> int:
    """`[stop N]`: the number of the job to stop, 0 for none."""
    verb, _, number = rest.lower().partition(" ")
    number = number.strip()
    if rest and (verb != "stop" or not number.isdecimal() or len(number) > 6 or not int(number)):
        raise InvalidArguments("say stop and the number of a job, or nothing")
    return int(number or 0)


def read_backlog(rest: str) -> BacklogChoice:
    """`all`, `latest` or `none`."""
    choice = _CHOICES.get(rest.lower())
    if choice is None:
        raise InvalidArguments("say all, latest or none")
    return choice


def read_name(rest: str) -> str:
    """`NAME`, with an `@` or without."""
    name, more = _name_and_more(rest)
    if more:
        raise InvalidArguments("it takes one name and nothing after it")
    return name


def read_optional_name(rest: str) -> str:
    """`[NAME]`, with an `@` or without."""
    return read_name(rest) if rest else ""


def read_paths(rest: str) -> str:
    """`PATH`, as it was typed or dropped: in quotes or not."""
    if not rest:
        raise InvalidArguments("say which file")
    return rest


def read_phrase(rest: str) -> str:
    """`[NAME]`, with spaces, in quotes or not."""
    return " ".join(_words(rest))


def read_save(rest: str) -> SaveRequest:
    """`[N or NAME] [TO]`; a text like the path of a folder is one."""
    words = _words(rest)
    if len(words) == 1 and _is_path(words[0]):
        return SaveRequest(to=words[0])
    if len(words) > 2:
        raise InvalidArguments("put names with spaces in quotes")
    return SaveRequest(*words)


def read_quote(rest: str) -> QuoteRequest:
    """`ROOM-OR-ID [last N]`."""
    last = DEFAULT_QUOTED
    if found := _LAST.fullmatch(rest):
        rest, last = found["room"], int(found["count"])
    room = read_phrase(rest)
    if not room:
        raise InvalidArguments("say which of your saved rooms")
    if not 1 <= last <= MOST_QUOTED:
        raise InvalidArguments(f"at most the last {MOST_QUOTED} messages can go along")
    return QuoteRequest(room, last)


def read_model(rest: str) -> str:
    """`[NAME]`: a provider, a colon and the model's own name."""
    if len(rest.split()) > 1:
        raise InvalidArguments("a model's name has no spaces")
    return rest


def read_option(rest: str) -> OptionChoice:
    """`[NAME]` or `OPTION VALUE`."""
    name, _, value = rest.partition(" ")
    return OptionChoice(name, value.strip())


def read_budget(rest: str) -> BudgetRaise:
    """`[+AMOUNT]`: dollars, or tokens with a k or M, or with the word."""
    if not rest:
        return BudgetRaise()
    found = _AMOUNT.fullmatch(rest.lower())
    if found is None:
        raise InvalidArguments("write +5 for five dollars more, +100k for 100,000 tokens more")
    number, power, unit = float(found["number"]), found["power"], found["unit"]
    if not found["dollar"] and (power or unit):
        return BudgetRaise(tokens=int(_at_most(number * _POWERS[power or ""], MOST_TOKENS)))
    if power or unit:
        raise InvalidArguments("dollars have no k; write +5 or +100k tokens")
    return BudgetRaise(money=_at_most(number, MOST_DOLLARS))


def _at_most(number: float, most: float) -> float:
    if not 0 < number <= most:
        raise InvalidArguments(f"more than nothing, and at most {most:,.0f} at once")
    return number


def _role(word: str) -> Role:
    role = _ROLES.get(word.lower())
    if role is None:
        raise InvalidArguments("the roles are host, member, guest and observer")
    return role


def _name_and_more(rest: str) -> tuple[str, str]:
    name, more = (*rest.split(maxsplit=1), "", "")[:2]
    name = name.removeprefix("@")
    if not name:
        raise InvalidArguments("say who")
    return name, more


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:  # a quote that stays open is an apostrophe
        return rest.split()


def _is_path(word: str) -> bool:
    return "/" in word or word in (".", "..") or word.startswith("~")


def read_span(word: str) -> float:
    """A time such as 30m, 2h or 7d, in seconds; raises `InvalidArguments`."""
    found = _SPAN.fullmatch(word.lower())
    seconds = int(found["count"]) * _UNITS[found["unit"]] if found else 0.0
    if not seconds:
        raise InvalidArguments("say for how long, like --for 30m, 2h or 7d")
    return seconds
