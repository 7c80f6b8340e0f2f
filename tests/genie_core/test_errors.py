import pickle
from typing import get_args

import pytest

from genie_core import errors
from genie_core.assistant.errors import WrongAddress
from genie_core.errors import GenieError, StageFailed, public_summary, summary


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
def test_text_names_subject_in_one_line(error: GenieError, text: str) -> None:
    assert str(error) == text


SAID = ("abcd", "gateway", "org-")


@pytest.mark.parametrize("kind", get_args(errors.ModelTrouble))
def test_provider_detail_stays_private(kind: errors.ModelTrouble) -> None:
    detail = "Incorrect API key …abcd for org-7 at gateway"
    failed = errors.ModelFailed(kind, "gpt", "https://gateway/v1", detail, "key ending in 'abcd'")
    for error in (failed, StageFailed("agent", "agent 'system' of ann", failed)):
        assert not [each for each in SAID if each in public_summary(error)]
        assert "gateway" in summary(error)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("https://gateway/v1 refused abcd"),
        errors.StateError("load", "/home/ann/gateway", "abcd"),
        errors.AttachmentError("a.txt", "[Errno 13] /home/gateway"),
        errors.ExecutionFailed("agent", "gateway abcd"),
        WrongAddress("m", "https://gateway/v1", "abcd"),
    ],
)
def test_public_summary_hides_details(error: Exception) -> None:
    told = public_summary(StageFailed("agent", "agent of ann", error))
    assert not [each for each in SAID if each in told]
    assert told.startswith("agent of ann: ")


def test_what_is_ours_to_say_everybody_may_read() -> None:
    assert public_summary(errors.ActorStopped("agent")) == "agent has stopped"
    assert public_summary(StageFailed("agent", "it", "gave an empty answer")).endswith("answer")


def test_a_long_cause_is_shortened() -> None:
    assert len(summary(ValueError("x" * 10_000))) < 500


def test_what_others_raise_is_told_without_keys() -> None:
    error = RuntimeError("401 for url 'https://host/v1?key=12345678'")
    assert summary(error) == "RuntimeError: 401 for url 'https://host/v1?key=[hidden]'"
    assert "12345678" not in str(StageFailed("agent", "agent of alice", error))


def test_contract_errors_subclass_builtins() -> None:
    assert issubclass(errors.UnknownAgent, ValueError)
    assert issubclass(errors.MissingKey, KeyError)


def test_unprintable_exception_is_named() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert summary(Unspeakable()) == "Unspeakable"
    assert str(StageFailed("agent", "agent of alice", Unspeakable())) == (
        "agent of alice: Unspeakable"
    )


def test_fields_and_text_survive_pickling() -> None:
    error = errors.InvalidSetting("retries", -1, expected="at least 0")

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert (copy.name, copy.value, copy.expected) == ("retries", -1, "at least 0")
    assert str(copy) == str(error) == "retries must be at least 0, not -1"


def test_braces_in_a_value_stay_as_they_are() -> None:
    assert str(errors.InvalidMessage("{reason} {x}")) == "message refused: {reason} {x}"


@pytest.mark.parametrize("values", [(), ("a", "b")], ids=["missing", "surplus"])
def test_error_needs_all_its_fields(values: tuple[str, ...]) -> None:
    with pytest.raises(TypeError, match=r"InvalidMessage\(reason\)"):
        errors.InvalidMessage(*values)
