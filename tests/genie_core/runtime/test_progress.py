import asyncio

import pytest

from genie_core.errors import StageFailed
from genie_core.runtime.progress import stage


def test_stage_names_subject_and_cause() -> None:
    with pytest.raises(StageFailed) as caught, stage("secrets", "secrets of alice"):
        raise OSError("no\nkeyring")
    assert caught.value.stage == "secrets"
    assert isinstance(caught.value.cause, OSError)
    assert str(caught.value) == "secrets of alice: OSError: no keyring"


def test_the_innermost_stage_counts() -> None:
    with pytest.raises(StageFailed) as caught, stage("agent", "outer"), stage("tools", "inner"):
        raise ValueError
    assert caught.value.stage == "tools"


async def test_only_inner_cancellation_is_failure() -> None:
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


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_program_exit_ends_only_stage(error: type[BaseException]) -> None:
    with pytest.raises(StageFailed, match=error.__name__), stage("agent", "it"):
        raise error


def test_the_end_of_a_generator_passes() -> None:
    with pytest.raises(GeneratorExit), stage("agent", "it"):
        raise GeneratorExit


def test_any_other_exception_is_a_failure() -> None:
    class Panic(BaseException):
        pass

    with pytest.raises(StageFailed, match="it: Panic: broke"), stage("agent", "it"):
        raise Panic("broke")
