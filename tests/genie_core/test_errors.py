import pytest

from genie_core import errors
from genie_core.errors import GenieError, StageFailed, summary


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.InvalidMessage("it is empty"), "message refused: it is empty"),
        (
            errors.InvalidSetting("idle_timeout", 0, "a positive number of seconds"),
            "idle_timeout must be a positive number of seconds, not 0",
        ),
        (
            errors.UnknownAgent("maths", ["math"]),
            "there is no agent named 'maths' (available: math)",
        ),
        (errors.MissingKey("x.json"), "cannot load x.json: nothing is stored there"),
        (errors.SessionStopped("s"), "session 's' is stopped and takes no more messages"),
        (errors.ActorStopped("agent of alice"), "agent of alice has stopped"),
        (errors.ExecutionFailed("agent", "it broke"), "it broke"),
        (
            errors.ModelFailed("limit", "gpt", "http://host", "slow down.", retry_after=7.2),
            "model 'gpt' at http://host takes no more requests for now: slow down; try again in 7 s",
        ),
        (
            errors.ModelFailed("connection", "gpt", "http://host/v1"),
            "model 'gpt' at http://host/v1 cannot be reached; check the address and the network",
        ),
    ],
)
def test_the_text_is_one_line_that_names_the_thing(error: GenieError, text: str) -> None:
    assert str(error) == text


def test_a_long_cause_is_shortened() -> None:
    assert len(summary(ValueError("x" * 10_000))) < 500


def test_what_others_raise_is_told_without_keys() -> None:
    error = RuntimeError("401 for url 'https://host/v1?key=12345678'")
    assert summary(error) == "RuntimeError: 401 for url 'https://host/v1?key=[hidden]'"
    assert "12345678" not in str(StageFailed("agent", "agent of alice", error))


def test_contract_errors_keep_their_builtin_kinds() -> None:
    assert issubclass(errors.UnknownAgent, ValueError)
    assert issubclass(errors.MissingKey, KeyError)


def test_an_exception_that_cannot_be_shown_is_at_least_named() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert summary(Unspeakable()) == "Unspeakable"
    assert str(StageFailed("agent", "agent of alice", Unspeakable())) == (
        "agent of alice: Unspeakable"
    )
