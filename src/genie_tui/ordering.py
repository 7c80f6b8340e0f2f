"""Reading orders from what follows the name of a command.

Reading is pure. A line that is no order raises `Misuse`, whose text says what is missing.
"""

import re
import shlex
from typing import Final

from genie_core.room.engine.backlog import BacklogChoice
from genie_core.room.protocol.events import Measure, Role
from genie_tui.order import (
    USUALLY_QUOTED,
    Admission,
    AnswerBacklog,
    Attach,
    Auto,
    Detach,
    Host,
    Invite,
    Moderation,
    Open,
    Prefs,
    RaiseBudget,
    Save,
    Share,
    ShowCosts,
    Thread,
    UseModel,
    Who,
)

MOST_QUOTED: Final = 200
"""Messages of another room that can be quoted at once."""

MOST_DOLLARS: Final = 10_000
MOST_TOKENS: Final = 1_000_000_000

_ROLES: Final[dict[str, Role]] = {"member": "member", "guest": "guest", "observer": "observer"}
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


class Misuse(Exception):
    """What follows a command is not what it takes."""


def read_invite(rest: str) -> Invite:
    """`[--new] [--once] [--for 1h]`, in any order."""
    words = iter(rest.split())
    new = once = False
    lifetime = None
    for word in words:
        match word.lower():
            case "--new":
                new = True
            case "--once":
                once = True
            case "--for":
                lifetime = _span(next(words, ""))
            case _:
                raise Misuse(f"it does not know {word}")
    return Invite(new, once, lifetime)


def read_moderation(measure: Measure, rest: str) -> Moderation:
    """`NAME [why]`."""
    name, reason = _name_and_more(rest)
    return Moderation(measure, name, reason=reason)


def read_measure(measure: Measure, rest: str) -> Moderation:
    """`NAME`."""
    return Moderation(measure, _only_name(rest))


def read_role(rest: str) -> Moderation:
    """`NAME member|guest|observer`."""
    name, word = _name_and_more(rest)
    role = _ROLES.get(word.lower())
    if role is None:
        raise Misuse("say whether they are a member, a guest or an observer")
    return Moderation("role", name, role)


def read_share(rest: str) -> Share:
    """`on` or `off`."""
    return Share(_is_on(rest))


def read_auto(rest: str) -> Auto:
    """`on` or `off`."""
    return Auto(_is_on(rest))


def read_backlog(rest: str) -> AnswerBacklog:
    """`all`, `latest` or `none`."""
    choice = _CHOICES.get(rest.lower())
    if choice is None:
        raise Misuse("say all, latest or none")
    return AnswerBacklog(choice)


def read_host(rest: str) -> Host:
    """`[NAME]`."""
    return Host(_only_name(rest)) if rest else Host()


def read_admission(rest: str, *, allow: bool) -> Admission:
    """`NAME`."""
    return Admission(_only_name(rest), allow)


def read_attach(rest: str) -> Attach:
    """`PATH`, in quotes or not."""
    if not rest:
        raise Misuse("say which file")
    return Attach(rest)


def read_detach(rest: str) -> Detach:
    """`[NAME]`, in quotes or not."""
    return Detach(" ".join(_words(rest)))


def read_save(rest: str) -> Save:
    """`[N or NAME] [TO]`; what looks like a way to a folder is one."""
    words = _words(rest)
    if len(words) == 1 and _is_way(words[0]):
        return Save(to=words[0])
    if len(words) > 2:
        raise Misuse("put names with spaces in quotes")
    return Save(*words)


def read_open(rest: str) -> Open:
    """`[N or NAME]`."""
    return Open(" ".join(_words(rest)))


def read_thread(rest: str) -> Thread:
    """`ROOM-OR-ID [last N]`."""
    last = USUALLY_QUOTED
    if found := _LAST.fullmatch(rest):
        rest, last = found["room"], int(found["count"])
    room = " ".join(_words(rest))
    if not room:
        raise Misuse("say which of your saved rooms")
    if not 1 <= last <= MOST_QUOTED:
        raise Misuse(f"at most the last {MOST_QUOTED} messages can go along")
    return Thread(room, last)


def read_who(rest: str) -> Who:
    """`[NAME]`."""
    return Who(_only_name(rest)) if rest else Who()


def read_prefs(rest: str) -> Prefs:
    """`[NAME]`."""
    return Prefs(_only_name(rest)) if rest else Prefs()


def read_model(rest: str) -> UseModel:
    """`[NAME]`, a provider, a colon and the model's own name."""
    if len(rest.split()) > 1:
        raise Misuse("a model's name has no spaces")
    return UseModel(rest)


def read_cost(rest: str) -> ShowCosts:
    """Nothing."""
    if rest:
        raise Misuse("it takes nothing after it")
    return ShowCosts()


def read_budget(rest: str) -> RaiseBudget:
    """`[+AMOUNT]`: dollars, or tokens with a k or M, or with the word."""
    if not rest:
        return RaiseBudget()
    found = _AMOUNT.fullmatch(rest.lower())
    if found is None:
        raise Misuse("write +5 for five dollars more, +100k for 100,000 tokens more")
    number, power, unit = float(found["number"]), found["power"], found["unit"]
    if not found["dollar"] and (power or unit):
        return RaiseBudget(tokens=int(_raised(number * _POWERS[power or ""], MOST_TOKENS)))
    if power or unit:
        raise Misuse("dollars have no k; write +5 or +100k tokens")
    return RaiseBudget(money=_raised(number, MOST_DOLLARS))


def _raised(number: float, most: float) -> float:
    if not 0 < number <= most:
        raise Misuse(f"more than nothing, and at most {most:,.0f} at once")
    return number


def _is_on(rest: str) -> bool:
    if rest.lower() not in ("on", "off"):
        raise Misuse("say on or off")
    return rest.lower() == "on"


def _name_and_more(rest: str) -> tuple[str, str]:
    name, more = (*rest.split(maxsplit=1), "", "")[:2]
    name = name.removeprefix("@")
    if not name:
        raise Misuse("say who")
    return name, more


def _only_name(rest: str) -> str:
    name, more = _name_and_more(rest)
    if more:
        raise Misuse("it takes one name and nothing after it")
    return name


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:  # a quote that stays open is an apostrophe
        return rest.split()


def _is_way(word: str) -> bool:
    return "/" in word or word in (".", "..") or word.startswith("~")


def _span(word: str) -> float:
    found = _SPAN.fullmatch(word.lower())
    seconds = int(found["count"]) * _UNITS[found["unit"]] if found else 0.0
    if not seconds:
        raise Misuse("say for how long, like --for 30m, 2h or 7d")
    return seconds
