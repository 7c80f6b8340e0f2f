from hypothesis import given
from hypothesis import strategies as st

from genie_testing.turns import Call, Calls, split_words


@given(st.text())
def test_the_words_of_a_text_add_up_to_it(text: str) -> None:
    words = split_words(text)
    assert "".join(words) == text
    assert all(words)


def test_calls_are_values() -> None:
    calls = Calls(Call("a", {"x": 1}), Call("b", {}))
    assert calls == Calls(Call("a", {"x": 1}), Call("b", {}))
    assert [call.name for call in calls.calls] == ["a", "b"]
