"""The rules by which tool calls are allowed, denied, or put before a person."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from genie_core.assistant.config import Rule
from genie_core.room.costs import kind_of
from genie_core.room.judge import EXCEED_BUDGET, Call, Judgement, Risk
from genie_core.room.names import fold_name

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
    deny or ask, and none that allows. `*` stands for anything at all: "git *" also fits
    "git status; rm -rf ~", and a line break. Whoever allows what a shell will read should name it
    in full.

    No rule allows to go over the budget.
    """

    rules: Sequence[Rule] = ()
    risk_of: Callable[[str, str], Risk] = field(default=_nothing_known)
    owner: str = ""

    def judge(self, call: Call) -> Judgement:
        """Decide about a call."""
        risk = self.risk_of(kind_of(call.agent), call.tool)
        values: dict[str, str] = {}
        fitting = [
            (number, rule)
            for number, rule in enumerate(self.rules, 1)
            if _fits(rule, call, risk, values)
        ]
        if not fitting and call.tool == EXCEED_BUDGET:
            return Judgement("ask", "the budget of this session is used up", risk)
        if not fitting:
            return self._usually(call, risk)
        denying = [each for each in fitting if each[1].effect == "deny"]
        number, rule = max(denying or fitting, key=lambda each: (_nearness(each[1]), each[0]))
        return Judgement(rule.effect, told(number, rule), risk)

    def _usually(self, call: Call, risk: Risk) -> Judgement:
        """What happens to a call that no rule fits."""
        if risk != "read":
            return Judgement("ask", _WHY_ASKED[risk], risk)
        if self.owner and fold_name(call.person) != fold_name(self.owner):
            return Judgement("ask", FOR_GUESTS, risk)
        if call.tool in READS_OTHER_ROOMS:
            return Judgement("ask", OTHER_ROOMS, risk)
        return Judgement("allow", READS, risk)


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


def _fits(rule: Rule, call: Call, risk: Risk, values: dict[str, str]) -> bool:
    if rule.risk and rule.risk != risk:
        return False
    if call.tool == EXCEED_BUDGET and rule.effect == "allow":
        return False
    if not fnmatchcase(call.tool, rule.tool[:LONGEST_PATTERN]):
        return False
    if not fnmatchcase(kind_of(call.agent), rule.agent[:LONGEST_PATTERN]):
        return False
    return all(
        name in call.arguments and _argument_fits(rule, name, pattern, call, values)
        for name, pattern in rule.arguments.items()
    )


def _argument_fits(rule: Rule, name: str, pattern: str, call: Call, values: dict[str, str]) -> bool:
    """Compare an argument. What can't be compared fits unless the call would be allowed by it."""
    if name not in values:
        values[name] = _as_text(call.arguments[name])
    value = values[name]
    if len(value) > LONGEST_VALUE or len(pattern) > LONGEST_PATTERN:
        return rule.effect != "allow" or pattern == "*"
    return fnmatchcase(value, pattern)


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
