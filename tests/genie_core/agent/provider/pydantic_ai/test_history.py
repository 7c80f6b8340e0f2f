from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    UserPromptPart,
)

from genie_core.agent.provider.pydantic_ai.history import PydanticHistory


def turn(text: str) -> list[ModelMessage]:
    return [
        ModelRequest(parts=[UserPromptPart(text)], instructions="be nice"),
        ModelResponse(parts=[TextPart(text.upper())]),
    ]


def texts(history: PydanticHistory) -> list[str]:
    return [str(getattr(part, "content", "")) for each in history.messages for part in each.parts]


def test_what_each_run_added_is_told_once() -> None:
    history = PydanticHistory()
    history.update(turn("a"))
    history.update([*history.messages, *turn("b")])
    lines = history.take_unsaved()
    assert [(line["keep"], len(line["messages"])) for line in lines] == [(0, 2), (2, 2)]
    assert history.take_unsaved() == []


def test_both_forms_restore_the_same() -> None:
    history = PydanticHistory()
    history.update(turn("a"))
    history.update([*history.messages, *turn("b")])
    from_lines, from_state = PydanticHistory(), PydanticHistory()
    from_lines.restore(history.take_unsaved())
    from_state.restore(history.to_state())
    assert from_lines.messages == from_state.messages == history.messages
    assert texts(history) == ["a", "A", "b", "B"]


def test_an_altered_end_replaces_what_was_saved() -> None:
    history = PydanticHistory()
    history.update([*turn("a"), *turn("b")])
    history.update([*history.messages[:3], *turn("c")])
    restored = PydanticHistory()
    restored.restore(history.take_unsaved())
    assert texts(restored) == texts(history) == ["a", "A", "b", "c", "C"]


def test_instructions_are_not_kept() -> None:
    history = PydanticHistory()
    history.update(turn("a"))
    assert "be nice" not in str(history.messages)
    assert "be nice" not in str(history.to_state())


def test_a_run_that_added_nothing_is_not_saved() -> None:
    history = PydanticHistory()
    history.update(turn("a"))
    history.take_unsaved()
    history.update(list(history.messages))
    assert history.take_unsaved() == []
