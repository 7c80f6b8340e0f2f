"""The rows about attacks in docs/approvals.md."""

from collections.abc import Iterator

from tests.genie_core.room.engine.test_attacks import GRANTS, MIXED, SPELLING, Call

from genie_core.assistant.config import Rule

LONGEST = 60
"""Characters of a value that a row shows."""

OUTCOMES = {"runs": "runs, as it should", "asks": "asked about", "denied": "denied"}


def rows() -> Iterator[list[str]]:
    """Yield the rows, by the lists of `test_attacks`, each as its cells."""
    for name, rules, call, outcome in SPELLING:
        yield [name, _rules(rules), _call(call), OUTCOMES[outcome]]
    for name, first, then, outcome in GRANTS:
        yield [name, _allowed(first), _call(then), OUTCOMES[outcome]]
    for name, rules, before, call, outcome in MIXED:
        earlier = "; ".join([_rules(rules)] * bool(rules) + [_call(each) for each in before])
        yield [name, earlier or "nothing", _call(call), OUTCOMES[outcome]]


def _rules(rules: tuple[Rule, ...]) -> str:
    return ", ".join(_rule(rule) for rule in rules)


def _rule(rule: Rule) -> str:
    tool = [] if rule.tool == "*" else [rule.tool]
    named = {**rule.about_effects, **rule.arguments, **({"mixed": "true"} if rule.mixed else {})}
    parts = [rule.effect, *tool, *(f"{name}={value}" for name, value in named.items())]
    return f"`{' '.join(parts)}`"


def _allowed(call: Call) -> str:
    assert call.answer is not None
    reach = {"": "exactly this", "*": "the whole tool"}.get(call.answer.covers, call.answer.covers)
    return f"{_call(call)}, allowed: {reach}"


def _call(call: Call) -> str:
    values = [*map(_value, call.arguments.values())]
    if call.schema is not None:
        values.append(_value(call.schema.get("description", call.schema)))
    agent = [] if call.agent == "system" else [f"by {call.agent}"]
    guest = [f"for {call.by}"] if call.by != "ann" else []
    return " ".join([f"`{' '.join([call.tool, *values])}`", *agent, *guest])


def _value(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return text.replace("\n", "⏎").replace("`", "'")
