import json
from pathlib import Path
from typing import Any

import pytest

from genie_core.assistant.config import Sandbox
from genie_core.assistant.servers.config_file import ServerSpec, load_servers
from genie_core.assistant.servers.errors import ServersFileError


def written(folder: Path, value: object) -> Path:
    file = folder / "mcp.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


def problem(folder: Path, value: object) -> str:
    """What is said of a file, without its name, which is always there."""
    file = written(folder, value)
    with pytest.raises(ServersFileError) as caught:
        load_servers(file)
    text = str(caught.value)
    assert text.startswith(str(file))
    assert "\n" not in text
    return text.removeprefix(str(file)).removeprefix(", ")


def server_problem(folder: Path, entry: object, name: str = "git") -> str:
    return problem(folder, {"mcpServers": {name: entry}})


def test_programs_and_addresses_are_read_as_other_programs_write_them(tmp_path: Path) -> None:
    servers = load_servers(
        written(
            tmp_path,
            {
                "globalShortcut": "of another program",
                "mcpServers": {
                    "files": {
                        "type": "stdio",
                        "command": "npx",
                        "args": ["-y", "server", "${HOME}"],
                        "env": {"TOKEN": "${TOKEN}"},
                        "cwd": "work",
                    },
                    "web": {"url": "https://host/mcp", "headers": {"Authorization": "Bearer ${T}"}},
                    "other-web": {"type": "streamable-http", "url": "${ADDRESS}", "legacy": True},
                    "off": {"command": "x", "disabled": True, "whatever": 1},
                    "on": {"command": "x", "disabled": False, "legacy": True, "autoApprove": ["*"]},
                },
            },
        )
    )
    assert servers == {
        "files": ServerSpec(
            "files",
            "npx",
            ("-y", "server", "${HOME}"),
            {"TOKEN": "${TOKEN}"},
            str(tmp_path / "work"),
        ),
        "web": ServerSpec("web", url="https://host/mcp", headers={"Authorization": "Bearer ${T}"}),
        "other-web": ServerSpec("other-web", url="${ADDRESS}", legacy=True),
        "on": ServerSpec("on", "x", legacy=True),
    }


def test_a_home_folder_is_found_and_a_byte_order_mark_does_not_matter(tmp_path: Path) -> None:
    text = json.dumps({"servers": {"a": {"command": "x", "cwd": "~/w"}}})
    assert load_servers(written(tmp_path, "\ufeff" + text))["a"].cwd == str(Path.home() / "w")


def test_no_file_means_no_servers(tmp_path: Path) -> None:
    assert load_servers(None) == {}
    assert load_servers(tmp_path / "mcp.json") == {}


def test_what_may_be_a_key_is_not_printed() -> None:
    spec = ServerSpec("a", "x", ("--key=sesame",), {"K": "sesame"}, "", "sesame", {"H": "sesame"})
    assert "sesame" not in repr(spec)


def test_what_is_no_json_is_told_by_line_and_column(tmp_path: Path) -> None:
    assert problem(tmp_path, '{\n  "mcpServers": {,}\n}').startswith(
        "line 2, column 18: invalid JSON"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "must be an object"),
        ({"mcpservers": {}}, "'mcpServers' is missing; rename 'mcpservers'"),
        ({}, "'mcpServers' is missing"),
        ({"mcpServers": []}, "mcpServers: it must be an object"),
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "'a' occurs twice"),
        ("[" * 100_000, "too deeply"),
        (" " * 1_000_001, "larger than 1000 KB"),
    ],
)
def test_what_is_no_table_of_servers_is_told(tmp_path: Path, value: object, said: str) -> None:
    assert said in problem(tmp_path, value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ServersFileError, match="can't be read: Is a directory"):
        load_servers(tmp_path)
    (tmp_path / "mcp.json").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ServersFileError, match="not UTF-8 text"):
        load_servers(tmp_path / "mcp.json")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("npx", "server 'git': it must be an object"),
        ({"comand": "x"}, "server 'git', 'comand': unknown key; did you mean 'command'?"),
        ({"command": "x", "zzz": 1}, "'zzz': unknown key; known keys: type, command, args"),
        ({}, "'command': it is missing"),
        ({"command": " "}, "'command': it is missing"),
        ({"type": "http"}, "'url': it is missing"),
        ({"type": "sse", "url": "http://h"}, "'type': 'sse' is not stdio, http or"),
        ({"command": "x", "url": "http://h"}, "'url': only valid with a url"),
        ({"url": "http://h", "env": {}}, "'env': only valid with a command"),
        ({"url": "ftp://h"}, "'url': it must begin with http"),
        ({"command": 7}, "'command': it must be text"),
        ({"command": "x\0"}, "'command': it must be text"),
        ({"command": "x", "args": "a b"}, "'args': it must be a list of texts"),
        ({"command": "x", "args": ["a", 1]}, "'args': it must be a list of texts"),
        ({"command": "x", "env": {"PORT": 80}}, "'env.PORT': name and value must be text"),
        ({"command": "x", "env": {"A=B": "c"}}, "'env.A=B': name and value must be text"),
        ({"command": "x", "env": []}, "'env': it must be an object"),
        ({"command": "x", "disabled": "no"}, "'disabled': it must be true or false"),
        ({"command": "x", "cwd": "~nobody-here/x"}, "names no home folder"),
        ({"command": "x", "sandbox": "yes"}, "'sandbox': it must be true or false"),
        ({"url": "http://x", "sandbox": True}, "only valid with a command"),
    ],
)
def test_what_is_wrong_with_a_server_is_told_by_server_and_key(
    tmp_path: Path, entry: Any, said: str
) -> None:
    assert said in server_problem(tmp_path, entry)


@pytest.mark.parametrize("name", ["", "my server", "-a", "a.b", "é", "x" * 33, "a\n"])
def test_names_must_be_fit_for_the_names_of_tools(tmp_path: Path, name: str) -> None:
    assert "letters, digits" in server_problem(tmp_path, {"command": "x"}, name)


def test_no_two_servers_may_lead_to_the_same_names(tmp_path: Path) -> None:
    entry = {"command": "x"}
    said = problem(tmp_path, {"mcpServers": {"a_b": entry, "a": entry, "a-b": entry, "ab": entry}})
    assert said.startswith("server 'a': 'a_b' begins with this name")
    assert said.endswith("rename it to 'a-b'")


def test_the_line_of_each_server_is_known(tmp_path: Path) -> None:
    text = """{"other": {"git": 1,
  "x": [{"git": {}}]},
  "mcpServers": {
    "files": {"command": "x", "env": {
        "git": "\\"git\\": {"}},
    "off": {"command": "x", "disabled": true},

    "git"
      :
      {"command": "y"}, "same": {"url": "http://x/\\u2028"}
  }}"""
    servers = load_servers(written(tmp_path, text))
    assert {name: spec.line for name, spec in servers.items()} == {
        "files": 4,
        "git": 10,
        "same": 10,
    }


def test_a_server_asks_for_a_sandbox_by_itself(tmp_path: Path) -> None:
    table = {"a": {"command": "x", "sandbox": True}, "b": {"command": "x", "sandbox": False}}
    text = json.dumps({"mcpServers": {**table, "c": {"command": "x"}}})
    settings = Sandbox(network=True)
    found = load_servers(written(tmp_path, text), settings)
    assert [found[name].sandbox for name in "abc"] == [settings, None, None]
