import pytest

from genie_tui.widgets.completion import Completions, offer

ROOM = Completions(("ann", "bob", "Hannah"), (("help", "keys"), ("who", "people"), ("me", "do")))


@pytest.mark.parametrize(
    ("before", "texts"),
    [
        ("@", ["@ann", "@bob", "@Hannah"]),
        ("hi @an", ["@ann", "@Hannah"]),
        ("(@BO", ["@bob"]),
        ("line\n@b", ["@bob"]),
        ("/", ["/help", "/who", "/me"]),
        ("/h", ["/help"]),
        ("/ho", ["/who"]),
    ],
)
def test_what_is_offered(before: str, texts: list[str]) -> None:
    found = offer(before, ROOM)
    assert found is not None
    assert [choice.text for choice in found.choices] == texts
    assert before.endswith(found.typed)


@pytest.mark.parametrize(
    "before", ["", "ann", "mail@an", "@zed", "@ann ", "say /h", "\n/h", "/help me", "//"]
)
def test_where_nothing_is_offered(before: str) -> None:
    assert offer(before, ROOM) is None


def test_a_choice_typed_in_full_is_complete() -> None:
    found = offer("hi @Ann", ROOM)
    assert found is not None
    assert found.is_complete(found.choices[0])
    assert not found.is_complete(found.choices[1])
