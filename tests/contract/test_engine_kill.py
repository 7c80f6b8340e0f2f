"""Whatever moment an engine is killed at, what it was done with is there."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KILLS = 500


def test_nothing_acknowledged_is_lost_to_a_kill(tmp_path: Path) -> None:
    seed = random.randrange(1_000_000)
    program = [sys.executable, "-W", "error", str(Path(__file__).with_name("killed_engine.py"))]
    outcome = subprocess.run(
        [*program, str(tmp_path), "--kills", str(KILLS), "--seed", str(seed)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert outcome.returncode == 0, f"seed {seed}: {outcome.stderr}"
    result = json.loads(outcome.stdout)
    assert result["kills"] == KILLS
    assert result["reported"] > KILLS  # or they were killed before there was anything to lose
