from pathlib import Path

import pytest

from genie_core.assistant.errors import UnknownPlaceholder
from genie_core.assistant.prompts import check_placeholders

FILE = Path("agent/poet.md")
KNOWN = ("owner", "agents")


@pytest.mark.parametrize(
    "text",
    [
        "for {owner}, with {agents}",
        'answer with {"a": 1} or {x: 1} or { topic } or {a.b} or {}',
        '{"nested": {topic}}\n',
        'an object:\n{\n  "a": {topic},\n  "b": 2\n}\n',
        "in Python, `f'{name}'` is a string",
        "```python\nprint(f'{name}')\n```\n",
        "~~~\n{name}\n",
        "mustaches of others: {{topic}}",
    ],
)
def test_known_words_json_and_code_are_fine(text: str) -> None:
    check_placeholders(text, FILE, KNOWN)


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("{topic}", 1, "topic"),
        ("fine\n\n\nabout {topic}.", 4, "topic"),
        ("{owner} `{topic}`", 1, "topic"),
        ("```\n{a}\n```\nand {ownr}", 4, "ownr"),
        ("never closed {\n\nand {topic}", 3, "topic"),
        ("closed } twice } {topic}", 1, "topic"),
    ],
)
def test_unknown_placeholder_names_line(text: str, line: int, name: str) -> None:
    with pytest.raises(UnknownPlaceholder) as found:
        check_placeholders(text, FILE, KNOWN)
    assert (found.value.line, found.value.name) == (line, name)
    assert f"agent/poet.md, line {line}" in str(found.value)
    assert "known: {owner} and {agents}" in str(found.value)
    assert "\n" not in str(found.value)


def test_mistyped_placeholder_gets_hint() -> None:
    with pytest.raises(UnknownPlaceholder, match=r"did you mean \{owner\}\?"):
        check_placeholders("for {ower}", FILE, KNOWN)


def test_check_takes_linear_time() -> None:
    check_placeholders("{" * 100_000 + "`" * 100_000 + "{a" * 100_000, FILE, KNOWN)
