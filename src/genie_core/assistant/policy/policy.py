"""The rules by which tool calls are allowed, denied, or put before a person."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from genie_core.assistant.config import Rule
from genie_core.room.engine.policy import EXCEED_BUDGET, PolicyResult, Risk, ToolCall
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.costs import kind_of

LONGEST_PATTERN: Final = 400
LONGEST_VALUE: Final = 20_000
"""Characters of an argument that are compared with a pattern."""

READS: Final = "it only reads"
FOR_GUESTS: Final = "it is for a guest, with your files and keys"
OTHER_ROOMS: Final = "it reads your other rooms, and the answer is for everybody in this one"

READS_OTHER_ROOMS: Final = frozenset({"search_rooms"})
"""The built-in tools that look beyond the room that they are used in."""

_WHY_ASKED: Final[dict[Risk, str]] = {
    "read": "it only reads, and no rule allows it",
    "write": "it writes files",
    "execute": "it runs programs",
    "network": "it reaches the network",
    "unknown": "no rule allows it",
}
_SAID: Final = {"allow": "allows", "ask": "asks about", "deny": "denies"}

_WILD: Final = frozenset("*?[")

_Nearness: TypeAlias = tuple[int, ...]


def _nothing_known(_agent: str, _tool: str) -> Risk:
    return "unknown"


def _only_as_written(_tool: str, _name: str, _value: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Policy:
    """Judges calls by a person's rules.

    `risk_of` tells the risk of an agent's tool by both their names: "unknown" for all that is not
    built in. A rule that denies wins over all others. Else the nearest one that fits counts: the
    one that names the tool more exactly, then the one that names more arguments and more of them,
    then the agent, then the risk; among equals the last. What no rule fits is allowed if it only
    reads, and asked about otherwise; also what reads for somebody else than the `owner`, or from
    other rooms, since the answers are for everybody in this one.

    Patterns are compared with the whole value, upper and lower case told apart. A rule fits only
    if each argument that it names is there. A value that is too long to be compared fits rules that
    deny or ask, and none that allows. `*` stands for anything at all, also a line break: "git *"
    fits "git status; rm -rf ~". So a rule that allows commands by a pattern allows none that a shell
    reads, unless it names the argument `shell`, too.

    `meanings` knows every plain way to write a tool's argument. A rule that allows has to fit one of
    them; others may also fit what was written. Of an address, a rule that allows has to fit the host
    by itself.

    No rule allows to go over the budget.
    """

    rules: Sequence[Rule] = ()
    risk_of: Callable[[str, str], Risk] = field(default=_nothing_known)
    owner: str = ""
    meanings: Callable[[str, str, str], tuple[str, ...]] = field(default=_only_as_written)

    def evaluate(self, call: ToolCall) -> PolicyResult:
        """Decide about a call."""
        risk = self.risk_of(kind_of(call.agent), call.tool)
        values = _Values(call, self.meanings if risk != "unknown" else _only_as_written)
        fitting = [
            (number, rule)
            for number, rule in enumerate(self.rules, 1)
            if _fits(rule, call, risk, values)
        ]
        if not fitting and call.tool == EXCEED_BUDGET:
            return PolicyResult("ask", "the budget of this session is used up", risk)
        if not fitting:
            return self._usually(call, risk)
        denying = [each for each in fitting if each[1].effect == "deny"]
        number, rule = max(denying or fitting, key=lambda each: (_nearness(each[1]), each[0]))
        return PolicyResult(rule.effect, told(number, rule), risk)

    def _usually(self, call: ToolCall, risk: Risk) -> PolicyResult:
        """What happens to a call that no rule fits."""
        if risk != "read":
            return PolicyResult("ask", _WHY_ASKED[risk], risk)
        if self.owner and fold_name(call.person) != fold_name(self.owner):
            return PolicyResult("ask", FOR_GUESTS, risk)
        if call.tool in READS_OTHER_ROOMS:
            return PolicyResult("ask", OTHER_ROOMS, risk)
        return PolicyResult("allow", READS, risk)


def told(number: int, rule: Rule) -> str:
    """What a rule says, as in "rule 3 asks about run_command with command=git *"."""
    tool = "any tool" if rule.tool == "*" else rule.tool
    agent = "" if rule.agent == "*" else f" of {rule.agent}"
    risk = f" that can {_CAN.get(rule.risk, rule.risk)}" if rule.risk else ""
    named = ", ".join(f"{name}={pattern}" for name, pattern in rule.arguments.items())
    with_ = f" with {named}" if named else ""
    return f"rule {number} {_SAID[rule.effect]} {tool}{agent}{risk}{with_}"


_CAN: Final = {
    "read": "only read",
    "write": "write",
    "execute": "run programs",
    "network": "reach the network",
    "unknown": "do what is not known",
}


def check_rules(rules: Sequence[Rule], known_tools: Sequence[str]) -> list[str]:
    """What is wrong with rules, one line for each fault. Tools of servers may not be known."""
    known = {*known_tools, EXCEED_BUDGET}
    return [
        f"rule {number}: {fault}"
        for number, rule in enumerate(rules, 1)
        for fault in _faults(rule, known)
    ]


def _faults(rule: Rule, known: set[str]) -> list[str]:
    faults: list[str] = []
    patterns = {"tool": rule.tool, "agent": rule.agent}
    patterns |= {f"arguments.{name}": pattern for name, pattern in rule.arguments.items()}
    for where, pattern in patterns.items():
        if len(pattern) > LONGEST_PATTERN:
            faults.append(f"{where} has more than {LONGEST_PATTERN} characters")
        elif not pattern and where in ("tool", "agent"):
            faults.append(f"{where} is empty and fits nothing; * stands for any")
        elif _is_open(pattern):
            faults.append(f"{where}={pattern}: [ has no ]; [[] stands for [ itself")
    if rule.effect not in _SAID:
        faults.append(f"effect is {rule.effect!r}; it may be allow, ask or deny")
    if rule.risk and rule.risk not in _WHY_ASKED:
        faults.append(f"risk is {rule.risk!r}; it may be {', '.join(_WHY_ASKED)}")
    if not faults and known and not any(fnmatchcase(tool, rule.tool) for tool in known):
        faults.append(f"there is no tool {rule.tool}")
    return faults


def _is_open(pattern: str) -> bool:
    """Whether a set of characters has no end, so that its bracket would stand for itself."""
    at = 0
    while (at := pattern.find("[", at)) >= 0:
        negated = pattern[at + 1 : at + 2] == "!"
        end = pattern.find("]", at + 2 + negated)
        if end < 0:
            return True
        at = end + 1
    return False


class _Values:
    """The arguments of a call as texts to compare, each looked at once."""

    def __init__(
        self, call: ToolCall, meanings: Callable[[str, str, str], tuple[str, ...]]
    ) -> None:
        self._call = call
        self._meanings = meanings
        self._found: dict[str, tuple[str, tuple[str, ...]]] = {}

    def of(self, name: str) -> tuple[str, tuple[str, ...]]:
        """An argument as it is written, and what it means, if there is more than one way to write it."""
        if name not in self._found:
            value = _as_text(self._call.arguments[name])
            meant = self._meanings(self._call.tool, name, value) if _is_short(value) else ()
            self._found[name] = value, meant
        return self._found[name]


def _fits(rule: Rule, call: ToolCall, risk: Risk, values: _Values) -> bool:
    if rule.risk and rule.risk != risk:
        return False
    if call.tool == EXCEED_BUDGET and rule.effect == "allow":
        return False
    if not fnmatchcase(call.tool, rule.tool[:LONGEST_PATTERN]):
        return False
    if not fnmatchcase(kind_of(call.agent), rule.agent[:LONGEST_PATTERN]):
        return False
    if rule.effect == "allow" and risk == "execute" and _is_loose(rule, call):
        return False
    return all(
        name in call.arguments and _argument_fits(rule, pattern, *values.of(name))
        for name, pattern in rule.arguments.items()
    )


def _is_loose(rule: Rule, call: ToolCall) -> bool:
    """Whether a rule knows only a part of what a shell would read."""
    if not call.arguments.get("shell") or "shell" in rule.arguments:
        return False
    return bool(_WILD & set(rule.arguments.get("command", "")))


def _argument_fits(rule: Rule, pattern: str, value: str, meant: tuple[str, ...]) -> bool:
    """Compare an argument. What can't be compared fits unless the call would be allowed by it."""
    if not _is_short(value) or len(pattern) > LONGEST_PATTERN:
        return rule.effect != "allow" or pattern == "*"
    if rule.effect != "allow":
        return any(fnmatchcase(each, pattern) for each in (value, *meant))
    return any(
        fnmatchcase(each, pattern) and _has_that_host(each, pattern) for each in meant or (value,)
    )


def _has_that_host(value: str, pattern: str) -> bool:
    """Whether no host is told by what comes after one: "https://*.org/*" is none for a.com/b.org/."""
    if "://" not in pattern or "://" not in value:
        return True
    host = re.split(r"[/?#]", value.partition("://")[2], maxsplit=1)[0]
    return fnmatchcase(host, pattern.partition("://")[2].partition("/")[0])


def _is_short(value: str) -> bool:
    return len(value) <= LONGEST_VALUE


def _as_text(value: Any) -> str:
    """Text as it is, everything else as JSON in its one canonical form."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _nearness(rule: Rule) -> _Nearness:
    literal = sum(_literals(pattern) for pattern in rule.arguments.values())
    return (
        *_exactness(rule.tool),
        len(rule.arguments),
        literal,
        *_exactness(rule.agent),
        bool(rule.risk),
    )


def _exactness(pattern: str) -> tuple[int, int]:
    """A name in full is nearer than a pattern, a longer pattern nearer than a shorter one."""
    if not _WILD & set(pattern):
        return 2, 0
    return (0, 0) if pattern == "*" else (1, _literals(pattern))


def _literals(pattern: str) -> int:
    return sum(character not in _WILD for character in pattern)
