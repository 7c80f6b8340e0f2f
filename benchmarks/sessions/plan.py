"""What is measured, in which order, each in a process of its own."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Final, Literal, TypeAlias

from benchmarks.sessions.appends import STORES, WAYS
from benchmarks.sessions.lore import save_room
from benchmarks.sessions.measurement import Measurement, Part
from genie_core.sessions.log.index import INDEX_NAME
from genie_core.sessions.session import SavedSession

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 600.0

_NOT_KEPT: Final = "PYTHONDONTWRITEBYTECODE"

WITH_INDEX: Final = "with index"
WITHOUT_INDEX: Final = "without index"

LOG: Final = "log"
SCREEN: Final = "screen"
Opened: TypeAlias = Literal["log", "screen"]


@dataclass(frozen=True, slots=True)
class Plan:
    """`sizes` are events in a log that is opened, `each` those in a session that is searched."""

    parts: tuple[Part, ...]
    sizes: tuple[int, ...]
    sessions: int
    each: int
    seconds: float
    repeat: int
    folder: Path


def measurements(plan: Plan) -> Iterator[Measurement]:
    """Measure everything, one thing after the other.

    Raises:
        OSError, subprocess.SubprocessError: a process could not measure.
    """
    if "append" in plan.parts:
        yield from _appends(plan)
    if "open" in plan.parts:
        for size in plan.sizes:
            yield from _opens(plan, size)
    if "search" in plan.parts:
        yield from _searches(plan)


def _appends(plan: Plan) -> Iterator[Measurement]:
    for _ in range(plan.repeat):
        for way in WAYS:
            for subject in STORES:
                with _folder(plan) as folder:
                    options = [subject, "--way", way, "--seconds", str(plan.seconds)]
                    figures = _measured("append", folder, *options)
                yield Measurement("append", subject, way, figures=figures)


def _opens(plan: Plan, size: int) -> Iterator[Measurement]:
    with _folder(plan) as home:
        saved = save_room(Path(home) / "data" / "sessions", "Bench", size)
        _measured(LOG, home, saved.id)  # so that the file is in the system's memory
        index = saved.folder / INDEX_NAME
        for _ in range(plan.repeat):
            for case in (WITHOUT_INDEX, WITH_INDEX):
                for what in (LOG, SCREEN):
                    _prepare(saved, index, home, with_index=case == WITH_INDEX)
                    began = perf_counter()
                    figures = _measured(what, home, saved.id)
                    figures["whole"] = perf_counter() - began
                    yield Measurement("open", what, case, size, figures)


def _prepare(saved: SavedSession, index: Path, home: str, *, with_index: bool) -> None:
    if not with_index:
        index.unlink(missing_ok=True)
    elif not index.exists():
        _measured(LOG, home, saved.id)


def _searches(plan: Plan) -> Iterator[Measurement]:
    with _folder(plan) as base:
        for number in range(plan.sessions):
            save_room(Path(base) / "sessions", f"Session {number}", plan.each)
        for run in range(plan.repeat):
            index = str(Path(base) / f"search-{run}.sqlite3")
            figures = _measured("search", str(Path(base) / "sessions"), index)
            case = f"{plan.sessions:,} sessions of {plan.each:,} events"
            yield Measurement("search", "index", case, plan.sessions * plan.each, figures)


def _folder(plan: Plan) -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(dir=plan.folder, prefix="genie-bench-")


def _measured(*arguments: str) -> dict[str, float | None]:
    # A program that is used has been compiled; where that is not kept, every start would do it.
    environment = {name: value for name, value in os.environ.items() if name != _NOT_KEPT}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.sessions.child", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    figures: dict[str, float | None] = json.loads(done.stdout.splitlines()[-1])
    return figures
