import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_core.settings.edit import ask_about_reads, asks_about_reads, put, remove

TEXT = """\
# mine
name = "ann" # me
text = '''
[limits]
port = 1
'''

# how many there may be
[limits]
members = 3 # few

[[rules]]
effect = "deny" # never
tool = "x"
"""

KEYS = st.sampled_from(
    [
        ("model",),
        ("name",),
        ("port",),
        ("budget", "money"),
        ("limits", "members"),
        ("limits", "joins"),
    ]
)
VALUES = st.one_of(st.text(max_size=9), st.integers(-9, 9), st.booleans(), st.lists(st.text()))


def at(values: object, key: tuple[str, ...]) -> object:
    for part in key:
        assert isinstance(values, dict)
        values = values[part]
    return values


def comments(text: str) -> list[str]:
    return [line.partition("#")[2] for line in text.split("\n") if "#" in line]


@settings(max_examples=40)
@given(st.lists(st.tuples(KEYS, VALUES), max_size=4))
def test_put_value_reads_back_rest_stays(
    changes: list[tuple[tuple[str, ...], object]],
) -> None:
    text, wanted = TEXT, dict[tuple[str, ...], object]()
    for key, value in changes:
        text = put(text, key, value)
        wanted[key] = value
    values = tomllib.loads(text)
    for key, value in wanted.items():
        assert at(values, key) == value
    for comment in ("# mine", "# me", "# how many there may be", "# few", "# never"):
        assert comment in text
    assert values["text"] == "[limits]\nport = 1\n"
    assert values["rules"] == [{"effect": "deny", "tool": "x"}]


@settings(max_examples=40)
@given(KEYS, VALUES)
def test_put_value_can_be_removed(key: tuple[str, ...], value: object) -> None:
    for text in ("", "# nothing yet\n", "[agents.a]\ndescription = 'x'\n"):
        again = remove(put(text, key, value), key)
        assert tomllib.loads(again) == tomllib.loads(text)
        assert ("# nothing yet" in again) == ("# nothing yet" in text)


def test_new_setting_joins_its_table() -> None:
    first, _, rest = put(TEXT, ("model",), "x:y").partition('model = "x:y"\n')
    assert first.endswith("'''\n")
    assert rest.startswith("\n# how many there may be\n[limits]\n")
    text = put("# all\n\n# few\n[limits]\nmembers = 3\n", ("ask",), True)
    assert text == "# all\n\nask = true\n\n# few\n[limits]\nmembers = 3\n"
    assert put("a = 1", ("b",), 2) == "a = 1\nb = 2"
    assert put("a = 1\n", ("budget", "money"), 2.0) == "a = 1\n\n[budget]\nmoney = 2.0\n"


@pytest.mark.parametrize("key", [("port",), ("limits", "joins"), ("name", "x"), ("rules", "x")])
def test_what_is_not_there_cannot_be_taken_out(key: tuple[str, ...]) -> None:
    with pytest.raises(KeyError):
        remove(TEXT, key)


@pytest.mark.parametrize(
    "text",
    ["", TEXT, "# x\na = 1\n", 'rules = [{ effect = "deny" }]\n', '[[rules]]\neffect = "ask"\n'],
)
def test_asking_about_reads_toggles_rule(text: str) -> None:
    asking = ask_about_reads(text, ask=True)
    assert any(asks_about_reads(rule) for rule in tomllib.loads(asking)["rules"])
    again = ask_about_reads(asking, ask=False)
    rules = [r for r in tomllib.loads(text).get("rules", []) if not asks_about_reads(r)]
    assert tomllib.loads(again).get("rules", []) == rules
    assert set(comments(again)) == set(comments(text))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"effect": "ask"}, True),
        ({"effect": "ask", "tool": "*", "agent": "*", "risk": "", "arguments": {}}, True),
        ({"effect": "ask", "risk": "read"}, True),
        ({"effect": "ask", "risk": "write"}, False),
        ({"effect": "deny"}, False),
        ({"effect": "ask", "tool": "x"}, False),
        ({"effect": "ask", "arguments": {"path": "*"}}, False),
    ],
)
def test_which_rules_ask_about_everything(rule: dict[str, object], expected: bool) -> None:
    assert asks_about_reads(rule) is expected
