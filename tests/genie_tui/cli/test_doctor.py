import io
import json
import resource
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from genie_core.assistant import programs
from genie_core.assistant.secrets import OwnSecrets
from genie_core.assistant.tools.shell import sandbox
from genie_core.assistant.tools.shell.sandbox import SandboxBackend
from genie_core.settings.locations import find_locations
from genie_core.settings.model import AgentTable, SandboxTable, Settings
from genie_tui.cli.doctor import check_system
from genie_tui.cli.main import main
from genie_tui.screen_size import terminal_problem


def report(home: Path, settings: Settings | None = None) -> dict[str, str]:
    """The lines of a report by what they are about."""
    out = io.StringIO()
    places = find_locations({"GENIE_HOME": str(home)})
    check_system(settings or Settings(name="ann"), places, {}, out)
    lines = out.getvalue().splitlines()
    return {line.split()[1]: line for line in lines}


def test_what_is_in_order_is_said_to_be(tmp_path: Path) -> None:
    found = report(tmp_path)
    for what in ("config", "rooms", "log", "settings", "name", "assistant"):
        assert found[what].startswith("ok"), found[what]


def test_file_in_place_of_rooms_is_bad(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    found = report(tmp_path)["rooms"]
    assert found.startswith("BAD")
    assert "Not a directory" in found


def test_disk_of_empty_files_only_is_bad(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        found = report(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for what in ("config", "rooms", "log"):
        assert found[what].startswith("BAD")
        assert "File too large" in found[what]


def test_no_finding_commands_the_terminal(tmp_path: Path) -> None:
    found = report(tmp_path / "\x1b]0;x\x07")["rooms"]
    assert "\x1b" not in found
    assert "␛]0;x␇" in found


def test_unreadable_folder_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    exists = Path.exists
    monkeypatch.setattr(
        Path, "exists", lambda path: refuse(path) if path.name == "sessions" else exists(path)
    )
    found = report(tmp_path)["rooms"]
    assert found.startswith("BAD")
    assert "Permission denied" in found


@pytest.mark.parametrize(
    ("settings", "what", "expected"),
    [
        (Settings(name="ann", workspace="~nosuchuser/x"), "assistant", "names no folder"),
        (Settings(name="ann", template="nope"), "assistant", "'nope'"),
        (Settings(name="system"), "name", "reserved"),
    ],
)
def test_a_setting_that_cannot_be_used_is_found(
    tmp_path: Path, settings: Settings, what: str, expected: str
) -> None:
    found = report(tmp_path, settings)[what]
    assert found.startswith("BAD")
    assert expected in found


def test_a_taken_port_is_found(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = report(tmp_path, Settings(name="ann", port=port))["port"]
    assert found.startswith("BAD")
    assert str(port) in found


def test_missing_stdin_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert "needs a terminal" in (terminal_problem() or "")


@pytest.mark.parametrize("kind", ["dumb", "unknown", ""])
def test_terminal_without_cursor_points_to_plain(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for stream in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, stream, SimpleNamespace(isatty=lambda: True))
    monkeypatch.setenv("TERM", kind)
    problem = terminal_problem() or ""
    assert problem.startswith(f"this terminal can't show the screen (TERM is {kind or 'not set'})")
    assert "--plain" in problem


def test_stored_key_satisfies_model(tmp_path: Path) -> None:
    settings = Settings(name="ann", model="openai:gpt-5")
    assert "needs OPENAI_API_KEY" in report(tmp_path, settings)["assistant"]
    folder = find_locations({"GENIE_HOME": str(tmp_path)}).secrets
    OwnSecrets("ann", folder, keyring=lambda: None).set("OPENAI_API_KEY", "sk-stored")
    assert report(tmp_path, settings)["assistant"].startswith("ok")


def agents_in_report(home: Path, path: Path, **settings: Any) -> list[str]:
    """The lines about the assistant and agents, with the programs of one folder."""
    out = io.StringIO()
    places = find_locations({"GENIE_HOME": str(home)})
    check_system(Settings(name="ann", **settings), places, {"PATH": str(path)}, out)
    lines = out.getvalue().splitlines()
    return [line for line in lines if line.split()[1] in ("assistant", "agent")]


def test_agents_show_how_to_install(tmp_path: Path) -> None:
    (tmp_path / "codex-acp").touch(0o700)
    _, first, *others = agents_in_report(tmp_path, tmp_path)
    assert f"Codex is at {tmp_path}/codex-acp" in first
    assert "config set agent codex" in first
    assert len(others) == 4
    assert "npm install -g @agentclientprotocol/claude-agent-acp" in others[0]
    assert first.startswith("ok")
    assert all(line.startswith("–") for line in others)


def test_agent_in_use_shows_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    missing, *_ = agents_in_report(tmp_path, tmp_path, agent="codex")
    assert missing.startswith("BAD")
    assert "npm install -g @agentclientprotocol/codex-acp" in missing
    (tmp_path / "codex-acp").touch(0o700)
    found, first, *_ = agents_in_report(tmp_path, tmp_path, agent="codex")
    assert found.startswith("ok")
    assert "Codex answers, to what is addressed to it" in found
    assert "codex login" in found
    assert "config set" not in first
    unknown, *_ = agents_in_report(tmp_path, tmp_path, agent="codx")
    assert "did you mean 'codex'?" in unknown


def test_sandbox_state_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(**table: Any) -> str:
        return report(tmp_path, Settings(name="ann", sandbox=SandboxTable(**table)))["commands"]

    monkeypatch.setattr(sandbox, "find_backend", lambda: SandboxBackend("bubblewrap"))
    assert said() == (
        "ok   commands   run in a sandbox: writes only the workspace, reads no homes, no network (bubblewrap)"
    )
    assert "without a sandbox: it is off" in said(mode="off")
    assert said(readable=("~nosuchuser/x",)).startswith("BAD")
    monkeypatch.setattr(sandbox, "find_backend", lambda: SandboxBackend(reason="bwrap is missing"))
    assert said() == "ok   commands   run without a sandbox: bwrap is missing"
    assert said(mode="required").startswith("BAD")


@pytest.mark.parametrize("chosen", ["", "mine"])
def test_agent_without_its_sandbox_is_bad(
    chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = {"mine": AgentTable(command=(sys.executable,), description="Codes.", sandbox=True)}
    monkeypatch.setattr(programs, "find_backend", lambda: SandboxBackend("bubblewrap"))
    assert agents_in_report(tmp_path, tmp_path, agent=chosen, agents=agents)[0].startswith("ok")
    monkeypatch.setattr(programs, "find_backend", lambda: SandboxBackend(reason="bwrap is missing"))
    found = agents_in_report(tmp_path, tmp_path, agent=chosen, agents=agents)[0]
    assert found.startswith("BAD")
    assert "must run in a sandbox, but bwrap is missing" in found


def test_mistakes_in_the_keys_are_found(tmp_path: Path) -> None:
    assert report(tmp_path)["keys"].startswith("ok")
    file = find_locations({"GENIE_HOME": str(tmp_path)}).keys_file
    file.parent.mkdir(parents=True)
    file.write_text('[room]\nfind = "alt+f"\n')
    assert report(tmp_path)["keys"] == f"ok   keys       default, with those of {file}"
    file.write_text('[room]\nfynd = "alt+f"\n')
    found = report(tmp_path)["keys"]
    assert found.startswith("BAD")
    assert found.endswith("[room] fynd: there is no such action; did you mean 'find'?")


def test_tool_servers_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    servers = {
        "works": {"command": sys.executable},
        "absent": {"command": "no-such-program"},
        "keyless": {"url": "https://tracker.example/mcp?key=${TRACKER_KEY}"},
    }
    file.write_text(json.dumps({"mcpServers": servers}, indent=1))
    settings = Settings(name="ann", mcp=str(file))
    out = io.StringIO()
    env = {"PATH": "/usr/bin:/bin"}
    assert check_system(settings, find_locations({"GENIE_HOME": str(tmp_path)}), env, out) == 1
    works, absent, keyless = [
        line for line in out.getvalue().splitlines() if line.split()[1] == "servers"
    ]
    assert works.startswith("ok")
    assert "works starts" in works
    assert "not asked" in works
    assert absent.startswith("BAD")
    assert "'no-such-program' is not on PATH" in absent
    assert "line 6" in absent
    assert keyless.startswith("BAD")
    assert "needs TRACKER_KEY" in keyless
    assert "servers" not in report(tmp_path)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--workspace", "/no/such/folder"], "the workspace /no/such/folder cannot be used"),
        (["--set", "mcp=/no/such.json"], "/no/such.json"),
        (["--set", "servers=wiki"], "wiki"),
        (["--template", "no_such"], "no_such"),
        (["--agent", "no_such"], "no_such"),
    ],
)
def test_the_options_that_it_is_given_are_used(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    said: str,
) -> None:
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    assert main(["doctor", *options]) == 1
    bad = [line for line in capsys.readouterr().out.splitlines() if line.startswith("BAD")]
    assert any(said in line for line in bad), bad
