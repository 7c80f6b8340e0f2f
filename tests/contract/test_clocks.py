"""Nobody's clock has to be right: one person at two machines, and a host, whose clocks disagree."""

import shutil
from pathlib import Path
from typing import Final

import pytest
from tests.contract.member import REPOSITORY, Member, join, new, visit

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_hosts")]

MINUTES: Final = 600
DAY: Final = 86_400

WRONG: Final = """\
import time

right = time.time
time.time = lambda: right() + {seconds}
"""


def with_clock(folder: Path, seconds: int) -> tuple[str, ...]:
    """What to run a program with whose clock goes wrong by so much from the first moment on."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(WRONG.format(seconds=seconds))
    return "env", f"PYTHONPATH={folder}:{REPOSITORY / 'src'}:{REPOSITORY}"


@pytest.mark.parametrize(
    ("host", "engine", "there"), [(0, MINUTES, -MINUTES), (DAY, 0, -DAY), (-MINUTES, DAY, 0)]
)
def test_skewed_clocks_still_get_answers(
    tmp_path: Path, port: int, host: int, engine: int, there: int
) -> None:
    desk, lap = tmp_path / "desk", tmp_path / "lap"
    clocks = {
        seconds: with_clock(tmp_path / f"clock{seconds}", seconds)
        for seconds in {host, engine, there}
    }
    settings = {"port": port}
    with Member("alice", tmp_path / "a", new(), settings=settings, prefix=clocks[host]) as alice:
        invite = alice.do("invite")
        with Member("bob", desk, join(invite), prefix=clocks[engine]) as bob:
            bob.wait_for("engine", state="ready")
            shutil.copytree(desk / "data" / "keys", lap / "data" / "keys")
            with Member("bob", lap, visit(invite), prefix=clocks[there]) as laptop:
                laptop.say("from the laptop")
                laptop.wait_until(lambda: laptop.bodies("decided"), "bob's engine deciding")
                (said,) = laptop.bodies("said")
                assert said["handler"] == "bob"
                assert not laptop.bodies("failed")
