from collections.abc import Mapping
from pathlib import Path

import pytest

from genie_core.assistant.config import Sandbox
from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.errors import MissingValue, ServerError
from genie_core.assistant.servers.launch import lacks, ready_to_start
from genie_core.assistant.tools.shell import sandbox
from genie_core.assistant.tools.shell.sandbox import SandboxBackend
from genie_core.privacy.redaction import mask_known


def test_secrets_come_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENIE_TEST_ONE", "from the environment")
    monkeypatch.setenv("GENIE_TEST_TWO", "from the environment, too")
    spec = ServerSpec("a", "sh", ("${GENIE_TEST_ONE}", "${GENIE_TEST_TWO}"))
    made = ready_to_start(spec, {"GENIE_TEST_ONE": "a secret"})
    assert made.args == ("a secret", "from the environment, too")
    with pytest.raises(MissingValue):
        ready_to_start(ServerSpec("a", "x", ("${GENIE_TEST_NONE}",)), {})


def test_what_is_secret_is_hidden_from_then_on() -> None:
    spec = ServerSpec("a", "sh", env={"LOGIN_TOKEN": "${IT}"})
    assert mask_known("say opensesame-1 here") == "say opensesame-1 here"
    ready_to_start(spec, {"IT": "opensesame-1"})
    assert "opensesame-1" not in mask_known("say opensesame-1 here")


def test_a_home_folder_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "x").touch(0o755)
    assert ready_to_start(ServerSpec("a", "~/bin/x"), {}).command == f"{tmp_path}/bin/x"


def test_hopeless_spec_is_refused_early(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=r"'a' has a cwd that is not a folder: .*/gone"):
        ready_to_start(ServerSpec("a", "x", cwd=str(tmp_path / "gone")), {})
    with pytest.raises(
        ServerError, match="'a' can't be started: the program 'gone' is not on PATH"
    ):
        ready_to_start(ServerSpec("a", "gone", env={"PATH": str(tmp_path)}), {})
    with pytest.raises(ServerError, match="'a' has a url that does not begin") as caught:
        ready_to_start(ServerSpec("a", url="${WHERE}"), {"WHERE": "file:///etc"})
    assert "etc" not in str(caught.value)


def test_start_faults_are_found_unstarted(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "server"
    program.write_text("#!/bin/sh\n")
    env = {"PATH": f"/nowhere:{tmp_path / 'bin'}"}

    def said(spec: ServerSpec, keys: Mapping[str, str] | None = None) -> list[str]:
        return [str(each) for each in lacks(spec, keys or {}, env)]

    def why(command: str, cwd: str = "") -> str:
        (text,) = said(ServerSpec("git", command, cwd=cwd))
        return text.removeprefix("the tool server 'git' ")

    assert why("server") == "can't be started: the program 'server' is not on PATH; install it"
    assert why(str(program)) == f"can't be started: '{program}' is not executable"
    assert (
        why("bin/gone", str(tmp_path)) == "can't be started: the program 'bin/gone' does not exist"
    )
    assert why("x", str(tmp_path / "gone")).startswith("has a cwd that is not a folder")
    program.chmod(0o755)
    assert said(ServerSpec("git", "server")) == []
    assert said(ServerSpec("git", "bin/server", cwd=str(tmp_path))) == []
    assert (
        "the program 'server' is not on PATH"
        in said(ServerSpec("git", "server", env={"PATH": "${P:-/no}"}))[0]
    )
    assert said(ServerSpec("git", "server", env={"PATH": "${P}"}), {"P": env["PATH"]}) == []


def test_every_name_that_has_no_value_is_found() -> None:
    spec = ServerSpec("a", "x", ("${ONE}", "${TWO:-2}"), {"THREE": "${env:THREE} ${FOUR}"})
    web = ServerSpec("b", url="http://${HOST}/", headers={"Authorization": "Bearer ${TOKEN}"})
    found = [
        str(each) for each in (*lacks(spec, {"FOUR": "4"}, {}), *lacks(web, {"HOST": "h"}, {}))
    ]
    assert found == [
        f"{place} needs {name}: store it with 'genie-tui secrets set {name}' or set it in the "
        "environment"
        for place, name in (
            ("args of the tool server 'a'", "ONE"),
            ("env.THREE of the tool server 'a'", "THREE"),
            ("headers.Authorization of the tool server 'b'", "TOKEN"),
        )
    ]


def test_sandboxed_server_needs_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ServerSpec("a", "sh", ("${IT}",), cwd=str(tmp_path), sandbox=Sandbox("auto"))
    monkeypatch.setattr(
        sandbox, "find_backend", lambda: SandboxBackend("bubblewrap", program="/bwrap")
    )
    made = ready_to_start(spec, {"IT": "value"})
    assert made.command == "/bwrap"
    assert made.args[-5:] == ("--chdir", str(tmp_path), "--", "sh", "value")
    assert "--unshare-net" in made.args
    monkeypatch.setattr(sandbox, "find_backend", lambda: SandboxBackend(reason="there is none"))
    with pytest.raises(ServerError, match="'a' can't be started in a sandbox: there is none"):
        ready_to_start(spec, {"IT": "value"})
