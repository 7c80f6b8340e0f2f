from typing import Any
from unittest.mock import MagicMock

from genie_core.runtime.overrides import extends


class Base:
    def run(self) -> str:
        return "run"

    def run_streaming(self) -> str:
        return "streaming"


class OnlyRun(Base):
    def run(self) -> str:
        return "my run"


class Both(OnlyRun):
    def run_streaming(self) -> str:
        return "my streaming"


def may_stream(holder: object) -> bool:
    return extends(holder, "run_streaming", "run")


def test_most_derived_method_counts() -> None:
    assert may_stream(Base())
    assert not may_stream(OnlyRun())
    assert may_stream(Both())


def test_an_instance_may_have_its_own() -> None:
    holder: Any = Both()
    holder.run = lambda: "mine"
    assert not may_stream(holder)
    holder.run_streaming = lambda: "mine"
    assert may_stream(holder)


def test_a_mock_has_the_documented_one_only() -> None:
    assert not may_stream(MagicMock(spec=Base))
