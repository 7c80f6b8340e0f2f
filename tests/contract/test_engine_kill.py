"""Whatever moment an engine is killed at, what it was done with is there."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contract.killed_engine import LIVES
from tests.limits import scaled

pytestmark = [pytest.mark.drill, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
KILLS = 500


def test_nothing_acknowledged_is_lost_to_a_kill(
    tmp_path: Path, drills: Callable[[int], int]
) -> None:
    kills = drills(KILLS // LIVES) * LIVES
    seed = random.randrange(1_000_000)
    program = [sys.executable, "-W", "error", str(Path(__file__).with_name("killed_engine.py"))]
    outcome = subprocess.run(
        [*program, str(tmp_path), "--kills", str(kills), "--seed", str(seed)],
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=scaled(800),
    )
    assert outcome.returncode == 0, f"seed {seed}: {outcome.stderr}"
    result = json.loads(outcome.stdout)
    assert result["kills"] == kills
    assert result["reported"] > kills  # or they were killed before there was anything to lose
