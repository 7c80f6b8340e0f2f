import asyncio

import pytest

from genie_core import errors
from genie_core.errors import GenieError, StageFailed, stage, summary


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


def test_a_stage_names_itself_its_subject_and_the_cause() -> None:
    with pytest.raises(StageFailed) as caught, stage("secrets", "secrets of alice"):
        raise OSError("no\nkeyring")
    assert caught.value.stage == "secrets"
    assert isinstance(caught.value.cause, OSError)
    assert str(caught.value) == "secrets of alice: OSError: no keyring"


def test_the_innermost_stage_counts() -> None:
    with pytest.raises(StageFailed) as caught, stage("agent", "outer"), stage("tools", "inner"):
        raise ValueError
    assert caught.value.stage == "tools"


def test_a_long_cause_is_shortened() -> None:
    assert len(summary(ValueError("x" * 10_000))) < 500


def test_contract_errors_keep_their_builtin_kinds() -> None:
    assert issubclass(errors.UnknownAgent, ValueError)
    assert issubclass(errors.MissingKey, KeyError)


async def test_a_cancellation_from_within_is_a_failure_and_one_from_outside_is_not() -> None:
    with pytest.raises(StageFailed, match="was cancelled from within"), stage("agent", "it"):
        raise asyncio.CancelledError

    async def work() -> None:
        with stage("agent", "it"):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancellation_in_a_thread_is_a_failure() -> None:
    with pytest.raises(StageFailed), stage("secrets", "it"):
        raise asyncio.CancelledError


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_ends_the_program_passes(error: type[BaseException]) -> None:
    with pytest.raises(error), stage("agent", "it"):
        raise error


def test_any_other_exception_is_a_failure() -> None:
    class Panic(BaseException):
        pass

    with pytest.raises(StageFailed, match="it: Panic: broke"), stage("agent", "it"):
        raise Panic("broke")


def test_an_exception_that_cannot_be_shown_is_at_least_named() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert summary(Unspeakable()) == "Unspeakable"
    assert str(StageFailed("agent", "agent of alice", Unspeakable())) == (
        "agent of alice: Unspeakable"
    )
