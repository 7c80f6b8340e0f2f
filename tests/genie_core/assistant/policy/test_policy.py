import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_core.assistant.config import Rule
from genie_core.assistant.policy.policy import (
    FOR_GUESTS,
    LONGEST_PATTERN,
    LONGEST_VALUE,
    OTHER_ROOMS,
    READS,
    Policy,
    broken_rule,
    check_tools,
    path_rules,
    rule_faults,
)
from genie_core.assistant.tools.files.workspace import PathRules
from genie_core.room.engine.approval_policy import EXCEED_BUDGET, Effect, Risk, ToolCall
from genie_core.room.engine.tool_effects import UNKNOWN_EFFECTS

RISKS: dict[str, Risk] = {"read_file": "read", "write_file": "write", "run_command": "execute"}


def risk_of(agent: str, tool: str) -> Risk:
    return RISKS.get(tool, "unknown") if agent == "system" else "unknown"


def judged(*rules: Rule, tool: str = "run_command", agent: str = "system", **given: Any) -> Effect:
    return Policy(rules, risk_of).evaluate(ToolCall("ann", agent, tool, given)).effect


def why(*rules: Rule, tool: str = "run_command", agent: str = "system", **given: Any) -> str:
    return Policy(rules, risk_of).evaluate(ToolCall("ann", agent, tool, given)).because


# -- without rules


@pytest.mark.parametrize(
    ("tool", "agent", "effect", "because", "risk"),
    [
        ("read_file", "system", "allow", READS, "read"),
        ("write_file", "system", "ask", "it writes files", "write"),
        ("run_command", "system", "ask", "it runs programs", "execute"),
        ("server_tool", "system", "ask", "no rule allows it", "unknown"),
        ("read_file", "coder:1a2b", "ask", "no rule allows it", "unknown"),
    ],
)
def test_reading_is_allowed_and_rest_asked(
    tool: str, agent: str, effect: str, because: str, risk: str
) -> None:
    result = Policy((), risk_of).evaluate(ToolCall("ann", agent, tool, {}))
    assert (result.effect, result.because, result.risk) == (effect, because, risk)


def test_unknown_tool_is_asked_about() -> None:
    assert Policy().evaluate(ToolCall("ann", "system", "read_file", {})).effect == "ask"


# -- which rule counts


def test_denial_wins_over_nearer_rule() -> None:
    near = Rule("allow", "run_command", "system", "execute", {"command": "rm x"})
    assert judged(near, command="rm x") == "allow"
    assert judged(Rule("deny"), near, command="rm x") == "deny"
    assert judged(near, Rule("deny", risk="execute"), command="rm x") == "deny"


@pytest.mark.parametrize(
    ("far", "near"),
    [
        (Rule("ask"), Rule("allow", "run_*")),
        (Rule("ask", "run_*"), Rule("allow", "run_command")),
        (Rule("ask", "r*"), Rule("allow", "run_*")),
        (Rule("ask", "run_command"), Rule("allow", "run_command", arguments={"command": "*"})),
        (
            Rule("ask", arguments={"command": "git *"}),
            Rule("allow", arguments={"command": "git status*"}),
        ),
        (
            Rule("ask", arguments={"command": "git status"}),
            Rule("allow", arguments={"command": "git *", "folder": "*"}),
        ),
        (Rule("ask", "run_command"), Rule("allow", "run_command", "sys*")),
        (Rule("ask", agent="s*"), Rule("allow", agent="system")),
        (Rule("ask"), Rule("allow", risk="execute")),
        (Rule("ask", agent="system", arguments={"command": "*"}), Rule("allow", "run_command")),
    ],
)
def test_nearest_rule_wins_in_any_order(far: Rule, near: Rule) -> None:
    given = {"command": "git status", "folder": "."}
    assert judged(far, near, **given) == "allow"
    assert judged(near, far, **given) == "allow"


def test_among_equals_the_last_counts() -> None:
    allow, ask = Rule("allow", "run_command"), Rule("ask", "run_command")
    assert judged(allow, ask) == "ask"
    assert judged(ask, allow) == "allow"


def test_a_rule_can_ask_about_what_only_reads() -> None:
    assert judged(Rule("ask", risk="read"), tool="read_file") == "ask"


def test_agents_are_named_without_their_instance() -> None:
    rule = Rule("allow", agent="coder")
    assert judged(rule, agent="coder:1f2e3d4c") == "allow"
    assert judged(rule, agent="boss:1/coder:2") == "allow"
    assert judged(rule, agent="coder:1/boss:2") == "ask"


# -- arguments


@pytest.mark.parametrize(
    ("pattern", "value", "fits"),
    [
        ("git *", "git status", True),
        ("git *", "GIT status", False),
        ("git *", "xgit status", False),
        ("git *", "git status; rm -rf ~", False),  # no subcommand that is known
        ("git status", "git status; rm -rf ~", False),
        ("git status", "git  'status'\n", True),  # the same words
        ("5", 5, True),
        ("true", True, True),
        ("null", None, True),
        ('{"a":[1,2],"b":"ü"}', {"b": "ü", "a": [1, 2]}, False),  # a set of characters
        ('{"a":[[]1,2],"b":"ü"}', {"b": "ü", "a": [1, 2]}, True),
        ("*", "", True),
        ("?", "", False),
        (".*", "x", False),  # no regular expression
    ],
)
def test_only_text_is_compared_unencoded(pattern: str, value: object, fits: bool) -> None:
    rule = Rule("allow", arguments={"command": pattern})
    assert (judged(rule, command=value) == "allow") is fits


@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
def test_argument_rule_needs_argument(effect: Effect) -> None:
    rule = Rule(effect, arguments={"path": "*"})
    assert why(rule, command="x") == "it runs programs"
    assert why(rule, path="x").startswith("rule 1 ")


def test_overlong_value_never_slips_denial() -> None:
    long = "x" * (LONGEST_VALUE + 1)
    assert judged(Rule("deny", arguments={"command": "*secret*"}), command=long) == "deny"
    assert judged(Rule("allow", arguments={"command": "x*"}), command=long) == "ask"
    assert judged(Rule("allow", arguments={"command": "*"}), command=long) == "allow"
    pattern = "*" * (LONGEST_PATTERN + 1)
    assert judged(Rule("allow", arguments={"command": pattern}), command="x") == "ask"


def test_long_pattern_matches_in_time() -> None:
    pattern = "*a" * (LONGEST_PATTERN // 2 - 1) + "b"
    rule = Rule("deny", arguments={"command": pattern})
    assert judged(rule, command="a" * LONGEST_VALUE) == "ask"


# -- claims of tool servers


def test_server_claim_decides_nothing() -> None:
    lies = replace(UNKNOWN_EFFECTS, claim="it only reads")
    rules = [Rule("allow", risk="read"), Rule("allow", path="*"), Rule("allow", host="*")]
    policy = Policy(rules, risk_of, "ann", effects_of=lambda _call, _risk: lies)
    result = policy.evaluate(ToolCall("ann", "system", "toy_wipe", {}))
    assert (result.effect, result.risk, result.effects.claim) == ("ask", "unknown", lies.claim)
    assert result.effects.pattern == ""


# -- going over the budget


def test_no_rule_allows_to_exceed_the_budget() -> None:
    assert judged(Rule("allow"), Rule("allow", EXCEED_BUDGET), tool=EXCEED_BUDGET) == "ask"
    assert judged(Rule("deny"), tool=EXCEED_BUDGET) == "deny"
    assert "budget" in why(tool=EXCEED_BUDGET)
    harmless = Policy((), lambda _agent, _tool: "read")
    assert harmless.evaluate(ToolCall("ann", "system", EXCEED_BUDGET, {})).effect == "ask"


# -- what is told


def test_a_result_names_its_rule() -> None:
    other = Rule("allow", "nothing")
    rule = Rule("ask", "run_command", arguments={"command": "git *"})
    assert why(other, other, rule, command="git x") == (
        "rule 3 asks about run_command with command=git *"
    )
    assert why(Rule("deny", agent="sys*", risk="execute")) == (
        "rule 1 denies any tool of sys* that can run programs"
    )


@pytest.mark.parametrize("effect", ["deny", "ask"])
def test_broken_rule_asks_about_all_it_may_mean(effect: Effect) -> None:
    allow = Rule("allow", "read_file", arguments={"path": "a/b/c.txt"}, mixed=True)
    for condition in ("tool", "path", "arguments"):
        written = Rule(effect, "read_file", path="*.env", arguments={"path": "*.env"})
        rules = [allow, broken_rule(written, ["tool", "path", "arguments", condition])]
        call = ToolCall("ann", "system", "read_file", {"path": "a/b/c.txt"})
        result = Policy(rules, risk_of).evaluate(call)
        assert (result.effect, result.must_ask) == ("ask", True)
        assert result.because == "rule 2 can't be used, and may be about it: see /tools"


def test_broken_rule_leaves_other_calls_alone() -> None:
    broken = broken_rule(Rule("deny", "write_file"), ["path"])
    assert judged(broken, tool="read_file") == "allow"
    assert judged(broken, Rule("allow", "write_file"), tool="write_file") == "ask"
    assert judged(broken, Rule("deny", "write_file"), tool="write_file") == "deny"


def test_broken_rule_that_allows_has_no_effect() -> None:
    broken = broken_rule(Rule("allow", "*", path="*"), [])
    assert judged(broken, tool="write_file") == "ask"
    assert judged(broken, Rule("deny", "read_file"), tool="read_file") == "deny"
    assert judged(broken, tool="read_file") == "allow"


def test_broken_rule_still_hides_files() -> None:
    def found(effect: Effect) -> PathRules:
        broken = broken_rule(Rule(effect, path="*.plan"), ["tool"])
        return path_rules([broken], "system", lambda _: "read", ["read_file"])

    assert found("deny").unread == ("*.plan",)
    assert "*.plan" in found("ask").private
    assert found("allow").unread == ()


def test_faults_in_rules_are_found() -> None:
    rules = [
        Rule("allow", "run_command", arguments={"command": "git *"}),
        Rule("deny", "*", "x" * 401),
        Rule("deny", "run_command", risk="danger"),
        Rule("deny", "run_command", arguments={"command": "a[b"}),
        Rule("never", "run_command"),  # type: ignore[arg-type]  # as from a file that lies
        Rule("ask", ""),
        Rule("ask", EXCEED_BUDGET),
        Rule("ask", "[]]*", arguments={"command": "[!]]"}),
    ]
    lines = [
        f"rule {number}: {fault}"
        for number, rule in enumerate(rules, 1)
        for _, fault in rule_faults(rule)
    ]
    for line, part in zip(
        lines,
        [
            "rule 2: agent has more than 400 characters",
            "rule 3: risk is 'danger'",
            "rule 4: arguments.command=a[b",
            "rule 5: effect is 'never'",
            "rule 6: tool is empty",
        ],
        strict=True,
    ):
        assert line.startswith(part)


@pytest.mark.parametrize(
    ("tool", "is_known"),
    [
        ("read_file", True),
        ("read_*", True),
        ("*", True),
        ("git_*", True),
        ("git_log", True),
        ("gi*", True),
        ("[gh]it_*", True),
        ("git", False),
        ("gits_*", False),
        ("run_comand", False),
    ],
)
def test_tools_of_rules_are_known(tool: str, is_known: bool) -> None:
    found = check_tools([Rule("ask"), Rule("ask", tool)], ["read_file"], ["git"])
    assert found == ([] if is_known else [f"rule 2: there is no tool {tool}"])


# -- properties

patterns = st.text("ab*?[]!", max_size=4)
rules = st.builds(
    Rule,
    st.sampled_from(["allow", "ask", "deny"]),
    patterns | st.just("*"),
    patterns | st.just("*"),
    st.sampled_from(["", "read", "write", "execute", "unknown"]),
    st.dictionaries(st.sampled_from("xy"), patterns, max_size=2),
)
values = st.recursive(
    st.text(string.printable, max_size=4) | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=4,
)


@given(
    st.lists(rules, max_size=6),
    st.sampled_from(["a", "b", "run_command", "read_file"]),
    st.dictionaries(st.sampled_from("xy"), values),
    st.permutations(range(6)),
)
def test_order_never_takes_a_denial_back(
    some: list[Rule], tool: str, given: dict[str, Any], order: list[int]
) -> None:
    call = ToolCall("ann", "system", tool, given)
    effect = Policy(some, risk_of).evaluate(call).effect
    shuffled = [some[place] for place in order if place < len(some)]
    assert (Policy(shuffled, risk_of).evaluate(call).effect == "deny") is (effect == "deny")
    alone = {Policy([rule], risk_of).evaluate(call).effect for rule in some}
    assert (effect == "deny") is ("deny" in alone)


def test_what_reads_for_a_guest_is_asked_about() -> None:
    policy = Policy((), lambda _agent, _tool: "read", owner="Ann")
    assert policy.evaluate(ToolCall("ann", "system", "read_file", {})).effect == "allow"
    result = policy.evaluate(ToolCall("bob", "system", "read_file", {}))
    assert (result.effect, result.because) == ("ask", FOR_GUESTS)
    allowing = Policy((Rule("allow", risk="read"),), lambda _agent, _tool: "read", owner="Ann")
    assert allowing.evaluate(ToolCall("bob", "system", "read_file", {})).effect == "allow"


def test_what_reads_other_rooms_is_asked_about() -> None:
    policy = Policy((), lambda _agent, _tool: "read")
    result = policy.evaluate(ToolCall("ann", "system", "search_rooms", {}))
    assert (result.effect, result.because) == ("ask", OTHER_ROOMS)


@pytest.mark.parametrize("command", ["git *", "git statu[s]", "?it status"])
def test_plain_pattern_allows_no_shell(command: str) -> None:
    rule = Rule("allow", "run_command", arguments={"command": command})
    assert judged(rule, command="git status") == "allow"
    assert judged(rule, command="git status", shell=False) == "allow"
    assert judged(rule, command="git status", shell=True) == "ask"  # noqa: S604 - an argument of a call that is judged, nothing runs
    named = Rule("allow", "run_command", arguments={"command": command, "shell": "true"})
    assert judged(named, command="git status", shell=True) == "allow"  # noqa: S604 - as above
    whole = Rule("allow", "run_command", arguments={"command": "git status"})
    assert judged(whole, command="git status", shell=True) == "ask"  # noqa: S604 - as above
