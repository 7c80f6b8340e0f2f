"""The rules that allow, deny, or ask about tool calls."""

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
OTHER_ROOMS: Final = "it reads your other rooms, and everyone in this one sees the answer"

READS_OTHER_ROOMS: Final = frozenset({"search_rooms"})
"""The built-in tools that read other rooms than the current one."""

_WHY_ASKED: Final[dict[Risk, str]] = {
    "read": "it only reads, and no rule allows it",
    "write": "it writes files",
    "execute": "it runs programs",
    "network": "it reaches the network",
    "unknown": "no rule allows it",
}
_SAID: Final = {"allow": "allows", "ask": "asks about", "deny": "denies"}

_WILD: Final = frozenset("*?[")

_Specificity: TypeAlias = tuple[int, ...]


def _unknown_risk(_agent: str, _tool: str) -> Risk:
    return "unknown"


def _no_canonical_forms(_tool: str, _name: str, _value: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Policy:
    """Decides about tool calls by a person's rules.

    `risk_of` returns the risk of an agent's tool by their names, "unknown" if it is not built in. A
    matching rule that denies wins. Otherwise the most specific matching rule decides: by the tool's
    name, then by the number and length of argument patterns, then by the agent, then by the risk;
    among equals the last. Without a matching rule, a call is allowed if it only reads and asked
    about otherwise. A read is also asked about for anyone but the `owner`, and for other rooms,
    since everyone in this room sees the answer.

    Patterns match the whole value, case-sensitive. A rule matches only if all arguments that it
    names are present. A value too long to compare matches rules that deny or ask, and none that
    allow. `*` matches anything, including line breaks: "git *" matches "git status; rm -rf ~".
    Therefore a rule that allows commands by a pattern allows no shell command, unless it also names
    the argument `shell`.

    `meanings` returns the canonical forms of an argument. A rule that allows must match one of
    them; other rules may also match the argument as written. For an address, a rule that allows
    must match the host by itself.

    No rule can allow exceeding the budget.
    """

    rules: Sequence[Rule] = ()
    risk_of: Callable[[str, str], Risk] = field(default=_unknown_risk)
    owner: str = ""
    meanings: Callable[[str, str, str], tuple[str, ...]] = field(default=_no_canonical_forms)

    def evaluate(self, call: ToolCall) -> PolicyResult:
        risk = self.risk_of(kind_of(call.agent), call.tool)
        values = _Values(call, self.meanings if risk != "unknown" else _no_canonical_forms)
        fitting = [
            (number, rule)
            for number, rule in enumerate(self.rules, 1)
            if _fits(rule, call, risk, values)
        ]
        if not fitting and call.tool == EXCEED_BUDGET:
            return PolicyResult("ask", "the budget of this session is used up", risk)
        if not fitting:
            return self._default(call, risk)
        denying = [each for each in fitting if each[1].effect == "deny"]
        number, rule = max(denying or fitting, key=lambda each: (_specificity(each[1]), each[0]))
        return PolicyResult(rule.effect, describe(number, rule), risk)

    def _default(self, call: ToolCall, risk: Risk) -> PolicyResult:
        if risk != "read":
            return PolicyResult("ask", _WHY_ASKED[risk], risk)
        if self.owner and fold_name(call.person) != fold_name(self.owner):
            return PolicyResult("ask", FOR_GUESTS, risk)
        if call.tool in READS_OTHER_ROOMS:
            return PolicyResult("ask", OTHER_ROOMS, risk)
        return PolicyResult("allow", READS, risk)


def describe(number: int, rule: Rule) -> str:
    """Describe a rule, as in "rule 3 asks about run_command with command=git *"."""
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
    "unknown": "have unknown effects",
}


def check_rules(rules: Sequence[Rule], known_tools: Sequence[str]) -> list[str]:
    """Return one line for each mistake in rules. Servers' tools may be unknown."""
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
            faults.append(f"{where} is empty and matches nothing; use * for any")
        elif _has_open_bracket(pattern):
            faults.append(f"{where}={pattern}: [ is not closed; write [[] for a literal [")
    if rule.effect not in _SAID:
        faults.append(f"effect is {rule.effect!r}; use allow, ask or deny")
    if rule.risk and rule.risk not in _WHY_ASKED:
        faults.append(f"risk is {rule.risk!r}; use {', '.join(_WHY_ASKED)}")
    if not faults and known and not any(fnmatchcase(tool, rule.tool) for tool in known):
        faults.append(f"there is no tool {rule.tool}")
    return faults


def _has_open_bracket(pattern: str) -> bool:
    """Return whether a bracket is unclosed and would stand for itself."""
    at = 0
    while (at := pattern.find("[", at)) >= 0:
        negated = pattern[at + 1 : at + 2] == "!"
        end = pattern.find("]", at + 2 + negated)
        if end < 0:
            return True
        at = end + 1
    return False


class _Values:
    """The arguments of a call as text, each converted once."""

    def __init__(
        self, call: ToolCall, meanings: Callable[[str, str, str], tuple[str, ...]]
    ) -> None:
        self._call = call
        self._meanings = meanings
        self._found: dict[str, tuple[str, tuple[str, ...]]] = {}

    def of(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return an argument as written and its canonical forms."""
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
    """Return whether a rule's pattern can't constrain a shell command."""
    if not call.arguments.get("shell") or "shell" in rule.arguments:
        return False
    return bool(_WILD & set(rule.arguments.get("command", "")))


def _argument_fits(rule: Rule, pattern: str, value: str, meant: tuple[str, ...]) -> bool:
    """Compare an argument. One that can't be compared matches unless the rule allows."""
    if not _is_short(value) or len(pattern) > LONGEST_PATTERN:
        return rule.effect != "allow" or pattern == "*"
    if rule.effect != "allow":
        return any(fnmatchcase(each, pattern) for each in (value, *meant))
    return any(
        fnmatchcase(each, pattern) and _has_that_host(each, pattern) for each in meant or (value,)
    )


def _has_that_host(value: str, pattern: str) -> bool:
    """Check the host alone: "https://*.org/*" must not match a.com/b.org/."""
    if "://" not in pattern or "://" not in value:
        return True
    host = re.split(r"[/?#]", value.partition("://")[2], maxsplit=1)[0]
    return fnmatchcase(host, pattern.partition("://")[2].partition("/")[0])


def _is_short(value: str) -> bool:
    return len(value) <= LONGEST_VALUE


def _as_text(value: Any) -> str:
    """Return text as it is and other values as canonical JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _specificity(rule: Rule) -> _Specificity:
    literal = sum(_literals(pattern) for pattern in rule.arguments.values())
    return (
        *_exactness(rule.tool),
        len(rule.arguments),
        literal,
        *_exactness(rule.agent),
        bool(rule.risk),
    )


def _exactness(pattern: str) -> tuple[int, int]:
    """Rank a full name above a pattern, and a longer pattern above a shorter one."""
    if not _WILD & set(pattern):
        return 2, 0
    return (0, 0) if pattern == "*" else (1, _literals(pattern))


def _literals(pattern: str) -> int:
    return sum(character not in _WILD for character in pattern)
