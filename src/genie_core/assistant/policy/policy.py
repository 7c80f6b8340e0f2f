"""The rules that allow, deny, or ask about tool calls."""

import glob
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from genie_core.assistant.config import Rule
from genie_core.assistant.policy.commands import analyse, is_covered, matches
from genie_core.assistant.policy.effects import is_set
from genie_core.assistant.policy.known_commands import RUN_CODE
from genie_core.assistant.policy.normalize import PATH_ARGUMENTS, host_of, readable_host
from genie_core.assistant.tools.catalog import ROOM_TOOLS
from genie_core.assistant.tools.files.workspace import PRIVATE_FILES, PathRules, matches_path
from genie_core.room.engine.approval_policy import (
    ANSWER_SERVER,
    EXCEED_BUDGET,
    ONLY_PEOPLE_ALLOW,
    SAMPLE_MODEL,
    Effect,
    PolicyResult,
    Risk,
    ToolCall,
)
from genie_core.room.engine.tool_effects import UNKNOWN_EFFECTS, ToolEffects
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.costs import kind_of

LONGEST_PATTERN: Final = 400
LONGEST_VALUE: Final = 20_000
"""Characters of an argument that are compared with a pattern."""

READS: Final = "it only reads"
FOR_GUESTS: Final = "it is for a guest, with your files and keys"
OTHER_ROOMS: Final = "it reads your other rooms, and everyone in this one sees the answer"

STOPS: Final = "it ends a program"
HIDDEN: Final = "it is about a hidden file, and no rule names it"

_WHY_ASKED: Final[dict[Risk, str]] = {
    "read": "it only reads, and no rule allows it",
    "write": "it writes files",
    "execute": "it runs programs",
    "network": "it reaches the network",
    "unknown": "no rule allows it",
}
_WHY_ONLY_PEOPLE: Final = {
    EXCEED_BUDGET: "the budget of this session is used up",
    ANSWER_SERVER: "only you can answer",
    SAMPLE_MODEL: "it is sent to your model, and costs what your requests cost",
}
_SAID: Final = {"allow": "allows", "ask": "asks about", "deny": "denies"}

_WILD: Final = frozenset("*?[")
_FIRST_WILD: Final = re.compile(r"[*?\[]")

_Specificity: TypeAlias = tuple[int, ...]


def _unknown_risk(_agent: str, _tool: str) -> Risk:
    return "unknown"


def _no_canonical_forms(_tool: str, _name: str, _value: str) -> tuple[str, ...]:
    return ()


def _unknown_effects(_call: ToolCall, _risk: Risk) -> ToolEffects:
    return UNKNOWN_EFFECTS


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
    allow. A rule that allows commands by a pattern allows none that can run other programs, and no
    shell command unless it also names the argument `shell`. While a rule denies or asks about
    commands or hosts, or denies files, a command that may evade it is allowed only by a rule that
    names it word for word, or the program whose code of the workspace it runs.

    `effects_of` resolves the effects of a call. `path`, `command` and `host` of a rule are compared
    with that, and so is an argument `command`: a rule that denies or asks matches one that is among
    the effects, one that allows must cover all of them. If the effects can't be found out, rules
    that deny effects match.

    `meanings` returns the canonical forms of an argument. A rule that allows must match one of
    them; other rules may also match the argument as written. For an address, a rule that allows
    must match the host by itself.

    A broken rule decides nothing, but calls that it may be about are asked about unless a rule
    denies it.

    `texts_used` returns the files of the workspace that have been in a prompt.

    No rule can allow exceeding the budget, or a request of a tool server.
    """

    rules: Sequence[Rule] = ()
    risk_of: Callable[[str, str], Risk] = field(default=_unknown_risk)
    owner: str = ""
    meanings: Callable[[str, str, str], tuple[str, ...]] = field(default=_no_canonical_forms)
    effects_of: Callable[[ToolCall, Risk], ToolEffects] = field(default=_unknown_effects)
    texts_used: Callable[[], tuple[str, ...]] = field(default=tuple)

    def evaluate(self, call: ToolCall) -> PolicyResult:
        return replace(self._evaluated(call), sources=self.texts_used())

    def _evaluated(self, call: ToolCall) -> PolicyResult:
        risk = self.risk_of(kind_of(call.agent), call.tool)
        try:
            effects = self.effects_of(call, risk)
        except (OSError, ValueError, MemoryError, RecursionError) as error:
            return self._unresolved(call, risk, error)
        effects = replace(effects, pattern=self._pattern_for(call, effects))
        result = replace(self._result(call, risk, effects), effects=effects)
        return self._guarded(call, risk, self._doubted(call, result))

    def _guarded(self, call: ToolCall, risk: Risk, result: PolicyResult) -> PolicyResult:
        """Let a person decide if a broken rule may be about a call."""
        if result.effect == "deny":
            return result
        broken = next((n for n, _ in self._fitting(call, risk, result.effects, broken=True)), None)
        if broken is None:
            return result
        because = f"rule {broken} can't be used, and may be about it: see /tools"
        return replace(result, effect="ask", because=because, must_ask=True)

    def _unresolved(self, call: ToolCall, risk: Risk, error: Exception) -> PolicyResult:
        """Judge a call whose effects can't be found out: rules that deny effects may be about it."""
        why = f"what it would do can't be found out: {error}"
        effects = ToolEffects(anything=True, why=why, private=True)
        about = [
            rule
            for rule in self.rules
            if rule.about_effects and not rule.broken and _is_about(rule, call, risk)
        ]
        if any(rule.effect == "deny" for rule in about):
            return PolicyResult("deny", why, risk, effects=effects)
        result = self._result(call, risk, effects)
        effect: Effect = "deny" if result.effect == "deny" else "ask"
        return PolicyResult(effect, why, risk, must_ask=True, effects=effects)

    def _doubted(self, call: ToolCall, result: PolicyResult) -> PolicyResult:
        """Let a person decide if a command may run against a rule that denies or asks."""
        if result.effect == "deny" or not result.effects.targets("run"):
            return result
        if denied := result.effects.denied:
            return replace(result, effect="deny", because=denied)
        doubt = self._doubt(call, result.risk, result.effects)
        if doubt and result.effect == "allow" and not result.exact:
            return replace(result, effect="ask", because=doubt, must_ask=True)
        return replace(result, must_ask=bool(doubt) and result.effect == "ask")

    def _doubt(self, call: ToolCall, risk: Risk, effects: ToolEffects) -> str:
        """Say which rule a command may evade; empty if none."""
        runs_code = effects.anything or bool(effects.why)
        connects = (runs_code or effects.connects) and not effects.isolated
        for number, rule in enumerate(self.rules, 1):
            if rule.effect == "allow" or not _is_about(rule, call, risk):
                continue
            if (runs_code and _command_pattern(rule)) or (connects and rule.host):
                why = effects.why or "it connects to hosts that it does not name"
                return f"rule {number} may be about it: {why}"
        return effects.unheld

    def _result(self, call: ToolCall, risk: Risk, effects: ToolEffects) -> PolicyResult:
        fitting = self._fitting(call, risk, effects, broken=False)
        if not fitting and call.tool in _WHY_ONLY_PEOPLE:
            return PolicyResult("ask", _WHY_ONLY_PEOPLE[call.tool], risk)
        if not fitting:
            return self._default(call, risk, effects)
        denying = [each for each in fitting if each[1].effect == "deny"]
        number, rule = max(denying or fitting, key=lambda each: (_specificity(each[1]), each[0]))
        exact = any(each.effect == "allow" and _is_exact(each, effects) for _, each in fitting)
        if rule.effect == "allow" and effects.hidden and not any(map(_names_hidden, _paths(rule))):
            return PolicyResult("ask", HIDDEN, risk)
        return PolicyResult(
            rule.effect,
            describe(number, rule),
            risk,
            mixed=rule.mixed,
            exact=exact,
        )

    def _fitting(
        self, call: ToolCall, risk: Risk, effects: ToolEffects, *, broken: bool
    ) -> list[tuple[int, Rule]]:
        """Return the rules that match a call, by their numbers."""
        values = _Values(call, self.meanings if risk != "unknown" else _no_canonical_forms)
        return [
            (number, rule)
            for number, rule in enumerate(self.rules, 1)
            if rule.broken is broken
            and _fits(rule, call, risk, values, effects)
            and _fits_effects(rule, call, effects)
        ]

    def is_covered(self, call: ToolCall, effects: ToolEffects, pattern: str) -> bool:
        risk = self.risk_of(kind_of(call.agent), call.tool)
        if effects.targets("run"):
            rule = Rule("allow", command=pattern)
        elif effects.targets("connect"):
            rule = Rule("allow", host=pattern)
        else:
            rule = Rule("allow", path=pattern)
            if effects.hidden and not _names_hidden(pattern):
                return False
        return risk != "unknown" and _fits_effects(rule, call, effects)

    def _pattern_for(self, call: ToolCall, effects: ToolEffects) -> str:
        """Suggest a pattern that also covers calls like this one; empty if there is none.

        For a command it is the program with its first plain argument, for a file its folder, for an
        address its host.
        """
        if effects.anything or not effects.known:
            return ""
        first = effects.known[0]
        match first.kind:
            case "run":
                program, _, rest = first.target.partition(" ")
                word = rest.partition(" ")[0]
                pattern = f"{program} {word}*" if word.isidentifier() else f"{program} *"
                if effects.private:
                    pattern = first.target
            case "connect":
                pattern = glob.escape(host_of(first.target))
            case _:
                folder = first.target.rpartition("/")[0]
                pattern = glob.escape(folder) + "/*" if folder else glob.escape(first.target)
        return pattern if self.is_covered(call, effects, pattern) else ""

    def _default(self, call: ToolCall, risk: Risk, effects: ToolEffects) -> PolicyResult:
        if call.tool == "stop_job" and risk == "execute":
            return PolicyResult("ask", STOPS, risk)
        if risk != "read":
            return PolicyResult("ask", _WHY_ASKED[risk], risk)
        if self.owner and fold_name(call.person) != fold_name(self.owner):
            return PolicyResult("ask", FOR_GUESTS, risk)
        if call.tool in ROOM_TOOLS:
            return PolicyResult("ask", OTHER_ROOMS, risk)
        if effects.hidden:
            return PolicyResult("ask", HIDDEN, risk)
        return PolicyResult("allow", READS, risk)


def describe(number: int, rule: Rule) -> str:
    """Describe a rule, as in "rule 3 asks about run_command with command=git *"."""
    tool = "any tool" if rule.tool == "*" else rule.tool
    agent = "" if rule.agent == "*" else f" of {rule.agent}"
    risk = f" that can {_CAN.get(rule.risk, rule.risk)}" if rule.risk else ""
    patterns = {**rule.arguments, **rule.about_effects}
    named = ", ".join(f"{name}={pattern}" for name, pattern in patterns.items())
    with_ = f" with {named}" if named else ""
    return f"rule {number} {_SAID[rule.effect]} {tool}{agent}{risk}{with_}"


_CAN: Final = {
    "read": "only read",
    "write": "write",
    "execute": "run programs",
    "network": "reach the network",
    "unknown": "have unknown effects",
}


def check_tools(
    rules: Sequence[Rule], known_tools: Collection[str], servers: Collection[str]
) -> list[str]:
    """Return one line for each rule about a tool that no agent can have.

    The names of a server's tools are unknown until it starts, but they begin with its name.
    """
    return [
        f"rule {number}: there is no tool {rule.tool}"
        for number, rule in enumerate(rules, 1)
        if not rule.broken
        and not any(fnmatchcase(tool, rule.tool) for tool in known_tools)
        and not any(_can_begin(rule.tool, f"{server}_") for server in servers)
    ]


def _can_begin(pattern: str, beginning: str) -> bool:
    """Whether a pattern can match a name with this beginning."""
    found = _FIRST_WILD.search(pattern)
    if found is None:
        return pattern.startswith(beginning)
    literal = pattern[: found.start()]
    return literal.startswith(beginning) or beginning.startswith(literal)


def broken_rule(rule: Rule, fields: Collection[str]) -> Rule:
    """Return a rule without the conditions in these fields: it asks about all that it may be about.

    One that allows has no effect at all.
    """
    if rule.effect == "allow":
        return Rule("allow", tool="", broken=True)
    valid = {
        name: getattr(rule, name)
        for name in ("tool", "agent", "risk", "arguments", "path", "command", "host")
        if name not in fields
    }
    return Rule("ask" if rule.effect == "ask" else "deny", broken=True, **valid)


def rule_faults(rule: Rule) -> list[tuple[str, str]]:
    """Return the fields of a rule that can't be used, each with the reason."""
    faults: list[tuple[str, str]] = []
    patterns = [("tool", "tool", rule.tool), ("agent", "agent", rule.agent)]
    patterns += [("arguments", f"arguments.{name}", each) for name, each in rule.arguments.items()]
    patterns += [(name, name, pattern) for name, pattern in rule.about_effects.items()]
    for field_name, where, pattern in patterns:
        if len(pattern) > LONGEST_PATTERN:
            faults.append((field_name, f"{where} has more than {LONGEST_PATTERN} characters"))
        elif not pattern and where in ("tool", "agent"):
            faults.append((field_name, f"{where} is empty and matches nothing; use * for any"))
        elif _has_open_bracket(pattern):
            why = f"{where}={pattern}: [ is not closed; write [[] for a literal ["
            faults.append((field_name, why))
        elif where in ("command", "arguments.command") and _has_open_quote(pattern):
            faults.append((field_name, f"{where}={pattern}: its quotes do not match"))
        elif where in ("path", "arguments.path") and _UNLIKE_PATHS.search(pattern):
            why = "files are named like docs/a.md, and all in a folder like docs/*"
            faults.append((field_name, f"{where}={pattern} matches no file: {why}"))
    if rule.effect not in _SAID:
        faults.append(("effect", f"effect is {rule.effect!r}; use allow, ask or deny"))
    if rule.risk and rule.risk not in _WHY_ASKED:
        faults.append(("risk", f"risk is {rule.risk!r}; use {', '.join(_WHY_ASKED)}"))
    return faults


_UNLIKE_PATHS: Final = re.compile(r"^(\.\.?|~)/|/$|^\s|\s$")
"""Beginnings and ends of patterns that no path of a file has."""


def _has_open_quote(pattern: str) -> bool:
    try:
        _ = shlex.split(pattern)
    except ValueError:
        return True
    return False


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


def _fits(rule: Rule, call: ToolCall, risk: Risk, values: _Values, effects: ToolEffects) -> bool:
    if not _is_about(rule, call, risk):
        return False
    if call.tool in ONLY_PEOPLE_ALLOW and rule.effect == "allow":
        return False
    is_command = risk == "execute" and isinstance(call.arguments.get("command"), str)
    return all(
        name in call.arguments
        and (
            _command_fits(rule, pattern, call, effects)
            if is_command and name == "command"
            else _argument_fits(rule, pattern, *values.of(name))
        )
        for name, pattern in rule.arguments.items()
    )


def _fits_effects(rule: Rule, call: ToolCall, effects: ToolEffects) -> bool:
    if rule.path and not _path_fits(rule, effects):
        return False
    if rule.effect == "allow" and call.tool == "move_file" and "to" not in rule.arguments:
        pattern = rule.arguments.get("path", "*")
        if not all(fnmatchcase(path, pattern) for path in effects.targets("write")):
            return False
    if rule.command and not (
        effects.targets("run") and _command_fits(rule, rule.command, call, effects)
    ):
        return False
    return not rule.host or _host_fits(rule, effects)


def _paths(rule: Rule) -> Iterator[str]:
    """Yield the patterns of a rule for paths."""
    yield rule.path
    yield from (rule.arguments.get(name, "") for name in PATH_ARGUMENTS)


def _names_hidden(pattern: str) -> bool:
    """Whether a pattern for paths names hidden files; as in a shell, * and ? don't stand for a dot."""
    return "/." in f"/{pattern}"


def _is_about(rule: Rule, call: ToolCall, risk: Risk) -> bool:
    """Whether a rule is about this tool and agent, for any effects."""
    return (
        rule.risk in ("", risk)
        and fnmatchcase(call.tool, rule.tool[:LONGEST_PATTERN])
        and fnmatchcase(kind_of(call.agent), rule.agent[:LONGEST_PATTERN])
    )


def _command_pattern(rule: Rule) -> str:
    return rule.command or rule.arguments.get("command", "")


def _is_exact(rule: Rule, effects: ToolEffects) -> bool:
    """Whether a rule names a command word for word, or a program for the code that it runs."""
    pattern = _command_pattern(rule)
    program = pattern.partition(" ")[0]
    names_program = program in RUN_CODE and not effects.anything
    return bool(pattern) and not _WILD & set(program if names_program else pattern)


def _path_fits(rule: Rule, effects: ToolEffects) -> bool:
    paths = effects.targets("read", "write")
    if rule.effect != "allow":
        return any(matches_path(path, (rule.path,)) for path in paths)
    only_files = len(paths) == len(effects.known) and not effects.anything
    return bool(paths) and only_files and all(fnmatchcase(path, rule.path) for path in paths)


def _host_fits(rule: Rule, effects: ToolEffects) -> bool:
    hosts = [host_of(address) for address in effects.targets("connect")]
    if rule.effect != "allow":
        names = {name for host in hosts for name in (host, readable_host(host))}
        return any(fnmatchcase(name.casefold(), rule.host.casefold()) for name in names)
    only_hosts = len(hosts) == len(effects.known) and not effects.anything
    return bool(hosts) and only_hosts and all(fnmatchcase(host, rule.host) for host in hosts)


def _is_in_root(rule: Rule, call: ToolCall) -> bool:
    """Whether a command runs in the workspace itself, where a rule about commands means it to."""
    folder = call.arguments.get("folder", "")
    pattern = _command_pattern(rule)
    return "folder" in rule.arguments or pattern == "*" or folder in ("", ".", None)


def _command_fits(rule: Rule, pattern: str, call: ToolCall, effects: ToolEffects) -> bool:
    text, shell = call.arguments["command"], is_set(call.arguments, "shell")
    if not _is_short(text) or len(pattern) > LONGEST_PATTERN:
        return rule.effect != "allow" or pattern == "*"
    if rule.effect == "allow" and not _is_in_root(rule, call):
        return False
    names_shell = "shell" in rule.arguments
    is_named = names_shell if shell else not _WILD & set(pattern) or pattern == "*"
    if rule.effect == "allow" and is_named and fnmatchcase(text, pattern):
        return True
    command = analyse(text, in_shell=shell)
    if rule.effect == "allow":
        anything = command.anything or (effects.anything and bool(effects.targets("run")))
        return is_covered(replace(command, anything=anything), pattern)
    return fnmatchcase(text, pattern) or matches(command, pattern)


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
    return fnmatchcase(host_of(value), host_of(pattern))


def _is_short(value: str) -> bool:
    return len(value) <= LONGEST_VALUE


def _as_text(value: Any) -> str:
    """Return text as it is and other values as canonical JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _specificity(rule: Rule) -> _Specificity:
    patterns = (*rule.arguments.values(), *rule.about_effects.values())
    literal = sum(map(_literals, patterns))
    return (
        *_exactness(rule.tool),
        len(rule.arguments) + len(rule.about_effects),
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


def path_rules(
    rules: Sequence[Rule],
    agent: str,
    risk_of: Callable[[str], Risk],
    tools: Sequence[str],
    private: Sequence[str] = (),
) -> PathRules:
    """Return the files that an agent's tools may not open, by the rules that deny paths to them.

    `tools` are those that read and write files, and `private` patterns of further private files.
    Files that rules ask about are private to searches.
    """
    denied: dict[str, list[str]] = {"read": [], "write": []}
    asked: list[str] = []
    for rule in rules:
        patterns = [*filter(None, _paths(rule))]
        others = {*rule.arguments, *rule.about_effects} - {"path", *PATH_ARGUMENTS}
        if len(patterns) != 1 or others or not fnmatchcase(agent, rule.agent):
            continue
        [pattern] = patterns
        risks = {risk_of(tool) for tool in tools if fnmatchcase(tool, rule.tool)}
        if rule.risk:
            risks &= {rule.risk}
        if rule.effect == "deny":
            for risk in risks & denied.keys():
                denied[risk].append(pattern)
        elif rule.effect == "ask" and "read" in risks and pattern != "*":
            asked.append(pattern)
    return PathRules(
        tuple(denied["read"]), tuple(denied["write"]), (*PRIVATE_FILES, *private, *asked)
    )


def denied_addresses(rules: Sequence[Rule], agent: str) -> tuple[str, ...]:
    """Return the patterns of addresses and hosts that rules deny to an agent's `fetch_url`."""
    return tuple(
        pattern
        for rule in rules
        if rule.effect == "deny" and fnmatchcase(agent, rule.agent)
        for pattern in (rule.host, rule.arguments.get("url", ""))
        if pattern and fnmatchcase("fetch_url", rule.tool)
    )
