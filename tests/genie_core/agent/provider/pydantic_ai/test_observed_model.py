from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from genie_core.agent.provider.pydantic_ai.observed_model import count_turns, without_turns


def conversation() -> list[ModelMessage]:
    """Three turns; the second was asked while calls of the first were closed."""
    return [
        ModelRequest([UserPromptPart("a")]),
        ModelResponse([ToolCallPart("look", {}, "c1"), ToolCallPart("look", {}, "c2")]),
        ModelRequest(
            [
                ToolReturnPart("look", "seen", "c1"),
                ToolReturnPart("look", "no", "c2", outcome="retried"),
                UserPromptPart("b"),
            ]
        ),
        ModelResponse([ToolCallPart("look", {}, "c3")]),
        ModelRequest([ToolReturnPart("look", "seen", "c3")]),
        ModelResponse([TextPart("B")]),
        ModelRequest([UserPromptPart("c")]),
    ]


def test_a_result_goes_with_its_call() -> None:
    messages = conversation()
    assert count_turns(messages) == 3
    cut = without_turns(messages, 1)
    assert cut[0].parts == [messages[2].parts[2]]
    assert cut[1:] == messages[3:]
    assert len(messages[2].parts) == 3


def test_the_present_turn_stays_whatever_is_asked_for() -> None:
    messages = conversation()
    assert without_turns(messages, 0) == messages
    assert without_turns(messages, 2) == without_turns(messages, 99) == messages[-1:]
    assert without_turns([], 3) == []
