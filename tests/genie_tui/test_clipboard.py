from pathlib import Path

import pytest
from tests.genie_tui.scripted_room import ScriptedJoinedRoom, in_room, until

from genie_tui.clipboard import copy_in_tmux


def tmux(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a shell script be tmux."""
    program = folder / "tmux"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("TMUX", "/tmp/tmux-1/default,1,0")


async def test_tmux_gets_what_is_copied(
    joined: ScriptedJoinedRoom, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmux(tmp_path, f'echo "$@" > {tmp_path}/taken; cat >> {tmp_path}/taken', monkeypatch)
    joined.say_here("to be copied")
    async with in_room(joined) as (_, pilot):
        await pilot.press("f5", "y")
        taken = tmp_path / "taken"
        await until(pilot, lambda: taken.exists() and "copied" in taken.read_text())
        assert taken.read_text() == "load-buffer -w -\nto be copied"
        assert pilot.app.clipboard == "to be copied"


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 3600"])
def test_failing_tmux_is_no_error(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("genie_tui.clipboard.TMUX_TIMEOUT", 0.2)
    tmux(tmp_path, script, monkeypatch)
    copy_in_tmux("text" * 100_000)


def test_without_tmux_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    copy_in_tmux("text")
