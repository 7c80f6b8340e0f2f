"""An installed agent that answers in a room, in a real terminal, and what it may do there."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.contract.terminal import Terminal
from tests.contract.test_first_room import answer
from tests.genie_core.agent.provider.acp import sdk_agent
from tests.genie_core.agent.provider.acp.test_real_programs import (
    codex,
    environment,
    model_server,
    opencode,
)

pytestmark = pytest.mark.timeout(300)


def file_maker(_address: str, _workspace: Path, _home: Path) -> tuple[str, ...]:
    return (sys.executable, str(Path(sdk_agent.__file__)))


@pytest.mark.parametrize("make", [file_maker, codex, opencode])
def test_agent_asks_before_writing_file(
    make: Callable[[str, Path, Path], tuple[str, ...]], port: int, tmp_path: Path
) -> None:
    workspace, home, its_home = (tmp_path / each for each in ("workspace", "home", "its-home"))
    for folder in (workspace, home, its_home):
        folder.mkdir()
    made = workspace / "made_by_agent.txt"
    with model_server() as address:
        command: Any = list(make(address, workspace, its_home))
        pairs = ", ".join(
            f"{key} = {json.dumps(text)}" for key, text in environment(its_home).items()
        )
        entry = f"[agents.mine]\ncommand = {json.dumps(command)}\nenv = {{ {pairs} }}\n"
        (home / "config").mkdir()
        (home / "config" / "settings.toml").write_text(entry)
        arguments = ["--title", "Standup", "--name", "ann", "--port", str(port)]
        arguments += ["--agent", "mine", "--workspace", str(workspace)]
        with Terminal("host", *arguments, home=home) as host:
            host.wait_for("Standup", f"127.0.0.1:{port}", "idle")
            host.say("@genie make a file please")
            host.wait_for("waits for your answer")
            assert not made.exists()
            answer(host, "a")
            host.wait_for("Done, the file is there.")
            assert made.exists()
            host.say("/mode")
            host.wait_for("ask (or plan)" if make is file_maker else "Mode: ")
            assert "acts on its own" not in host.text
            assert host.leave() == 0
