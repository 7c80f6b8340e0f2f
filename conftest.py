import asyncio
import gc
import os
import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.fork_server import forked_programs
from tests.limits import SLOWNESS, scaled

from genie_core.privacy import redaction
from genie_core.privacy.known_secrets import KnownSecrets
from genie_core.room.protocol.address import PORTS_TO_TRY

# Agents of the OpenAI SDK leave its tracing as it is, which would upload what tests do.
os.environ.setdefault("OPENAI_AGENTS_DISABLE_TRACING", "1")

COLLECTIONS = 20_000, 20, 100
"""Thresholds of the garbage collector, which with CPython's takes a quarter of the time."""

WAITING_UNTIL = 0.8
"""Tests that wait for programs begin in this share of a run: at its end they would wait alone."""

# How long an example takes tells how busy the machine is, and nothing of what is tested.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def _own_ports(worker_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test process usual ports of its own: a resumed room gets its port back then."""
    worker = int(worker_id.removeprefix("gw")) if worker_id != "master" else 0
    monkeypatch.setattr("genie_core.room.open.host.DEFAULT_PORT", 17654 + worker * PORTS_TO_TRY)


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    """Let no test hide what another one kept as a secret, whichever of them ran before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "_KNOWN", KnownSecrets())
        yield


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Install a distribution of others: its entry points, and its module `thirdparty`."""
    folder = tmp_path / "site-packages"
    info = folder / "thirdparty-1.0.dist-info"
    info.mkdir(parents=True)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "thirdparty", raising=False)

    def install(entry_points: str, code: str) -> None:
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thirdparty\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        (folder / "thirdparty.py").write_text(code)

    return install


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--drills",
        type=float,
        default=0.1,
        help="share of the kills, closes and damages that drills repeat (default: a tenth)",
    )
    parser.addoption(
        "--no-fork-server",
        action="store_true",
        help="start all programs for real (default: those in Python are forks; tests/fork_server.py)",
    )


@pytest.fixture(scope="session", autouse=True)
def _forked_programs(pytestconfig: pytest.Config) -> Iterator[None]:
    if pytestconfig.getoption("--no-fork-server") or sys.platform != "linux":
        yield
        return
    with forked_programs():
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Scale the limit of each test to the machine, unless the command line gives one."""
    if config.option.timeout is None:
        config.option.timeout = scaled(float(config.getini("timeout")))


def pytest_report_header() -> str:
    return f"time limits: {SLOWNESS:g} times those of the reference machine (tests/limits.py)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Scale the tests' own limits, and spread files that wait for programs among the others."""
    for item in items:
        if (own := item.get_closest_marker("timeout")) is not None:
            item.add_marker(pytest.mark.timeout(scaled(own.args[0])), append=False)
    files = [list(tests) for _, tests in groupby(items, lambda item: item.path)]
    waiting = [tests for tests in files if _waits(tests)]
    computing = [tests for tests in files if not _waits(tests)]
    placed = [
        (share * number / len(some), tests)
        for share, some in ((WAITING_UNTIL, waiting), (1.0, computing))
        for number, tests in enumerate(some)
    ]
    placed.sort(key=lambda each: each[0])
    items[:] = [item for _, tests in placed for item in tests]


def _waits(tests: Sequence[pytest.Item]) -> bool:
    """Whether a file's tests leave the processor to others for most of their time."""
    return "contract" in tests[0].path.parts or any(
        test.get_closest_marker("drill") for test in tests
    )


def pytest_collection() -> None:
    """Import thousands of tests without the garbage collector, which would find nothing."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Spare the garbage collector what is there for good: thousands of tests and all modules."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)
    gc.enable()


@pytest.fixture
def drills(pytestconfig: pytest.Config) -> Callable[[int], int]:
    """How often a drill is to be repeated that is repeated so often by default."""
    share = float(pytestconfig.getoption("--drills"))
    return lambda times: max(1, round(times * share))


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], AbstractEventLoop]]:
    """Run tests on eager event loops, as Textual makes them, from Python 3.12 on.

    What depends on the order in which tasks begin then fails on one Python or another.
    """
    return {"default": _event_loop}


def _event_loop() -> AbstractEventLoop:
    loop = asyncio.new_event_loop()
    if sys.version_info >= (3, 12):
        loop.set_task_factory(asyncio.eager_task_factory)
    return loop
