import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from keyring.backends import fail
from tests.genie_core.assistant.servers.oauth_web import Issuer, with_login

from genie_core.room.commands import files
from genie_tui.cli.main import main


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home of its own, and no keyring."""
    monkeypatch.setenv("GENIE_HOME", str(tmp_path))
    monkeypatch.setattr("keyring.get_keyring", fail.Keyring)
    for name in [name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_URL"))]:
        monkeypatch.delenv(name)


@contextmanager
def server_with_login(issuer: Issuer) -> Iterator[str]:
    """A server in a thread, since the command has an event loop of its own; its address."""
    address: list[str] = []
    started, over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with with_login(issuer) as url:
            address.append(url)
            started.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert started.wait(60)
        yield address[0]
    finally:
        over.set()
        thread.join()


def configured(folder: Path, **servers: object) -> None:
    (folder / "config").mkdir(exist_ok=True)
    (folder / "config" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))


def test_a_person_logs_in_is_listed_and_logs_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []

    async def browser(address: str, *_: str) -> None:
        opened.append(address)
        async with httpx2.AsyncClient(follow_redirects=True) as client:
            await client.get(address)

    monkeypatch.setattr(files, "run_opener", browser)
    issuer = Issuer()
    with server_with_login(issuer) as url:
        configured(tmp_path, my={"url": url}, git={"command": "git-server"})
        assert main(["servers"]) == 0
        assert capsys.readouterr().out == (
            "my   on HTTP\ngit  a program\n     the tool server 'git' can't be started: "
            "the program 'git-server' is not on PATH; install it\n"
        )
        assert main(["servers", "login", "my"]) == 0
    shown = capsys.readouterr().out
    assert opened[0] in shown
    file = tmp_path / "data" / "secrets" / "+all" / "secrets.json"
    assert f"Logged in at my; the login is kept in {file}" in shown
    assert not any(each in shown for each in (*issuer.access, *issuer.refreshing))
    assert file.stat().st_mode & 0o777 == 0o600
    assert main(["servers", "list"]) == 0
    assert "my   on HTTP, logged in\n" in capsys.readouterr().out
    assert main(["servers", "logout", "my"]) == 0
    assert "Logged out at my" in capsys.readouterr().out
    assert not any(each in file.read_text() for each in (*issuer.access, *issuer.refreshing))
    assert main(["servers", "logout", "my"]) == 0
    assert capsys.readouterr().out == "not logged in at my\n"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("other", "there is no tool server 'other'; there are: git, keyed"),
        ("git", "the tool server 'git' is a program, so it takes no login"),
        ("keyed", "the tool server 'keyed' has an Authorization header, so it takes no login"),
    ],
)
def test_one_that_takes_no_login_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, why: str
) -> None:
    keyed = {"url": "https://x.example", "headers": {"Authorization": "Bearer x"}}
    configured(tmp_path, git={"command": "git-server"}, keyed=keyed)
    assert main(["servers", "login", name]) != 0
    assert why in capsys.readouterr().err


def test_a_server_that_is_not_there_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configured(tmp_path, my={"url": "http://127.0.0.1:9/mcp"})
    assert main(["servers", "login", "my", "--no-browser"]) != 0
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1
    assert "not logged in at the tool server 'my'" in lines[0]
