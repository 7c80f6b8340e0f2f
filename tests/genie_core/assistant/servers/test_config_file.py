import json
import re
from pathlib import Path
from typing import Any

import pytest

from genie_core.assistant.config import Sandbox
from genie_core.assistant.servers.config_file import ServerSpec, load_servers


def written(folder: Path, value: object) -> Path:
    file = folder / "mcp.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    return file


def problem(folder: Path, value: object) -> str:
    """Return the one problem of a file, without its name, which is always there."""
    file = written(folder, value)
    (found,) = load_servers(file).problems
    text = str(found)
    assert text.startswith(str(file))
    assert "\n" not in text
    return text.removeprefix(str(file)).removeprefix(", ")


def server_problem(folder: Path, entry: object, name: str = "git") -> str:
    return problem(folder, {"mcpServers": {name: entry}})


def servers(folder: Path, value: object, **more: Any) -> dict[str, ServerSpec]:
    """Return the servers of a file in which nothing is wrong."""
    found = load_servers(written(folder, value), **more)
    assert found.problems == ()
    return dict(found.servers)


def test_common_entries_are_read(tmp_path: Path) -> None:
    found = servers(
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
    assert found == {
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


def test_home_and_byte_order_mark_are_read(tmp_path: Path) -> None:
    text = json.dumps({"servers": {"a": {"command": "x", "cwd": "~/w"}}})
    assert servers(tmp_path, "\ufeff" + text)["a"].cwd == str(Path.home() / "w")


def test_no_file_means_no_servers(tmp_path: Path) -> None:
    assert load_servers(None).servers == {}
    assert load_servers(tmp_path / "mcp.json").servers == {}


def test_what_may_be_a_key_is_not_printed() -> None:
    spec = ServerSpec("a", "x", ("--key=sesame",), {"K": "sesame"}, "", "sesame", {"H": "sesame"})
    assert "sesame" not in repr(spec)


def test_invalid_json_names_position(tmp_path: Path) -> None:
    assert problem(tmp_path, '{\n  "mcpServers": {;}\n}').startswith(
        "line 2, column 18: invalid JSON"
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([], "must be an object"),
        ({"mcpservers": {}}, "'mcpServers' is missing; rename 'mcpservers'"),
        ({}, "'mcpServers' is missing"),
        ({"mcpServers": []}, "mcpServers: it must be an object"),
        ("[" * 100_000, "too deeply"),
        (" " * 1_000_001, "larger than 1000 KB"),
    ],
)
def test_what_is_no_table_of_servers_is_told(tmp_path: Path, value: object, said: str) -> None:
    assert said in problem(tmp_path, value)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (found,) = load_servers(tmp_path).problems
    assert "can't be read: Is a directory" in str(found)
    (tmp_path / "mcp.json").write_bytes(b"{}\n\xff\xff")
    (found,) = load_servers(tmp_path / "mcp.json").problems
    assert str(found).endswith("it is not UTF-8 text at line 2; save it as UTF-8")


BROKEN: list[tuple[Any, str]] = [
    ("npx", "server 'git': it must be an object"),
    ({"comand": "x"}, "server 'git', 'comand': unknown key; did you mean 'command'?"),
    ({"command": "x", "sandbx": True}, "'sandbx': unknown key; did you mean 'sandbox'?"),
    ({"command": "x", "envFile": ".env"}, "'envFile': such a file is not read; list"),
    ({}, "'command': it is missing"),
    ({"program": "x", "args": []}, "'command': it is missing"),
    ({"command": " "}, "'command': it is missing"),
    ({"command": []}, "'command': it must be text"),
    ({"type": "http"}, "'url': it is missing"),
    ({"type": "websocket", "url": "http://h"}, "'type': 'websocket' is not stdio, http or sse"),
    ({"command": "x", "url": "http://h"}, "it has a command and a url; remove one of them"),
    ({"url": "ftp://h"}, "'url': it must begin with http"),
    ({"command": 7}, "'command': it must be text"),
    ({"command": "x\0"}, "'command': it must be text"),
    ({"command": "x", "args": "a b"}, "'args': it must be a list of texts"),
    ({"command": "x", "args": ["a", {}]}, "'args': it must be a list of texts"),
    ({"command": "x", "args": ["${config:a.b}"]}, "'args': ${config:a.b} means nothing here"),
    ({"command": "x", "args": ["${workspaceFolder}"]}, "needs a workspace: set one, or"),
    ({"command": "x", "environment": {"A": {}}}, "'environment.A': name and value must be text"),
    ({"command": "x", "env": {"A=B": "c"}}, "'env.A=B': name and value must be text"),
    ({"command": "x", "env": ["A=b"]}, "'env': it must be an object"),
    ({"command": "x", "disabled": "no"}, "'disabled': it must be true or false"),
    ({"command": "x", "excludeTools": "all"}, "'excludeTools': it must be a list of texts"),
    ({"command": "x", "cwd": "~nobody-here/x"}, "names no home folder"),
    ({"command": "x", "sandbox": "yes"}, "'sandbox': it must be true or false"),
    ({"url": "http://x", "sandbox": True}, "only a server with a command can have one"),
]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize(("entry", "said"), BROKEN)
def test_broken_entry_leaves_out_itself(tmp_path: Path, entry: Any, said: str, place: int) -> None:
    table = [("one", {"command": "x"}), ("two", {"url": "http://h/mcp"})]
    table.insert(place, ("git", entry))
    file = written(tmp_path, json.dumps({"mcpServers": dict(table)}, indent=0))
    found = load_servers(file)
    (error,) = found.problems
    assert [*found.servers] == ["one", "two"]
    assert said in str(error)
    assert re.match(rf"{re.escape(str(file))}, line \d+, server 'git'", str(error))
    assert error.server == "git"


PLOTS = ServerSpec("plots", "python3", ("-c", "pass"), {"PORT": "8080", "DEBUG": "true"})
WEB = ServerSpec("plots", url="https://h/mcp", headers={"X": "1"})
SSE = ServerSpec("plots", url="https://h/sse", sse=True, legacy=True)


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            {"command": "python3", "args": ["-c", "pass"], "env": {"PORT": 8080, "DEBUG": True}},
            PLOTS,
        ),
        (
            {
                "type": "local",
                "command": ["python3", "-c", "pass"],
                "environment": {"PORT": "8080", "DEBUG": "true", "NONE": None},
                "enabled": True,
            },
            PLOTS,
        ),
        (
            {
                "source": "custom",
                "command": {
                    "path": "python3",
                    "args": ["-c", "pass"],
                    "env": {"PORT": "8080", "DEBUG": "true"},
                },
            },
            PLOTS,
        ),
        ({"httpUrl": "https://h/mcp", "headers": {"X": 1}, "timeout": 30000, "trust": True}, WEB),
        ({"serverUrl": "https://h/mcp", "headers": {"X": "1"}, "disabledTools": []}, WEB),
        ({"type": "streamable-http", "url": "https://h/mcp", "headers": {"X": "1"}}, WEB),
        ({"type": "remote", "url": "https://h/mcp", "headers": {"X": "1"}, "oauth": {}}, WEB),
        ({"transport": "http", "url": "https://h/mcp", "headers": {"X": "1"}}, WEB),
        ({"type": "sse", "url": "https://h/sse", "note": "of another program"}, SSE),
        ({"url": "https://h/sse"}, SSE),
        ({"serverUrl": "https://h/sse", "alwaysAllow": ["*"]}, SSE),
        ({"type": "http", "url": "https://h/sse"}, ServerSpec("plots", url="https://h/sse")),
        (
            {"command": "x", "includeTools": ["a", "b*"], "excludeTools": ["c"]},
            ServerSpec("plots", "x", only=("a", "b*"), without=("c",)),
        ),
        ({"command": "x", "tools": ["*"]}, ServerSpec("plots", "x")),
    ],
)
def test_keys_of_other_programs_are_known(
    tmp_path: Path, entry: object, expected: ServerSpec
) -> None:
    assert servers(tmp_path, {"mcpServers": {"plots": entry}}) == {"plots": expected}


@pytest.mark.parametrize(
    "shape",
    [
        '{"mcpServers": %s}',
        '{"servers": %s}',
        '{"mcp": %s}',
        '{"mcp": {"servers": %s}}',
        "%s",
        '{"inputs": [], "servers": %s}',
        '{"$schema": "x", "model": "y", "mcp": %s}',
        '{"context_servers": %s}',
    ],
)
def test_tables_of_other_programs_are_known(tmp_path: Path, shape: str) -> None:
    assert [*servers(tmp_path, shape % '{"plots":\n{"command": "x"}}')] == ["plots"]


def test_off_by_either_key_is_left_out(tmp_path: Path) -> None:
    table = {
        "a": {"command": "x", "enabled": False},
        "b": {"command": "x", "disabled": True},
        "c": {"command": "x", "isActive": "false"},
        "d": {"command": "x", "enabled": True, "disabled": False},
    }
    assert [*servers(tmp_path, {"mcpServers": table})] == ["d"]


def test_foreign_placeholders_are_known(tmp_path: Path) -> None:
    text = {
        "inputs": [
            {"id": "plot-key", "type": "promptString", "password": True, "default": "x"},
            {"id": "site", "type": "promptString", "default": "north"},
        ],
        "servers": {
            "a": {
                "command": "${workspaceFolder}/run",
                "args": ["${input:plot-key}", "${input:site}", "{env:HOST}", "${env:HOST}"],
                "env": {"TOKEN": "$PLOT_TOKEN", "NOT": "cost $5"},
                "cwd": "${userHome}",
            }
        },
    }
    spec = servers(tmp_path, text, workspace=Path("/work"))["a"]
    assert spec.command == "/work/run"
    assert spec.args == ("${PLOT_KEY}", "${SITE:-north}", "${HOST}", "${env:HOST}")
    assert spec.env == {"TOKEN": "${PLOT_TOKEN}", "NOT": "cost $5"}
    assert spec.cwd == str(Path.home())


def test_comments_and_commas_are_accepted(tmp_path: Path) -> None:
    text = """{
  // servers, "quoted" {
  "mcpServers": {
    "plots": {
      "command": "x", /* off
      for now */ "args": ["http://h//a", "/*", "a,]",], // },
    },
  },
}"""
    found = servers(tmp_path, text)
    assert found["plots"].args == ("http://h//a", "/*", "a,]")
    assert found["plots"].line == 4


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_of_editors_are_read(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_bytes('{"mcpServers":\r\n{"ä": {"command": "ü"}}}\r\n'.encode(encoding))
    assert load_servers(file).servers == {"a": ServerSpec("a", "ü")}


@pytest.mark.parametrize(
    ("name", "fit"),
    [
        ("my server", "my-server"),
        ("@acme/seeds", "acme-seeds"),
        ("-a", "a"),
        ("a.b", "a-b"),
        ("é", "e"),
        ("a\n", "a"),
    ],
)
def test_names_become_fit_for_the_names_of_tools(tmp_path: Path, name: str, fit: str) -> None:
    assert [*servers(tmp_path, {"mcpServers": {name: {"command": "x"}}})] == [fit]


@pytest.mark.parametrize("name", ["", "x" * 33, "花园", "--"])
def test_names_without_a_fit_form_are_named(tmp_path: Path, name: str) -> None:
    assert "rename it: a name has 1 to 32 letters" in server_problem(
        tmp_path, {"command": "x"}, name
    )


def test_second_server_of_one_name_is_left_out(tmp_path: Path) -> None:
    text = {"mcpServers": {"a b": {"command": "x"}, "a-b": {"command": "y"}}}
    assert "server 'a-b': another server is called 'a-b', too" in problem(tmp_path, text)
    text_twice = '{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}'
    assert (
        problem(tmp_path, text_twice) == ": 'a' occurs twice, and the last one counts; remove one"
    )
    assert load_servers(written(tmp_path, text_twice)).servers["a"].command == "y"


def test_servers_never_share_tool_names(tmp_path: Path) -> None:
    entry = {"command": "x"}
    table = {"a_b": entry, "a": entry, "a-b": entry, "ab": entry}
    file = written(tmp_path, {"mcpServers": table})
    found = load_servers(file)
    (error,) = found.problems
    assert str(error).endswith(
        "server 'a_b': its tools could have the names of those of 'a'; rename it to 'a-b'; this server is left out"
    )
    assert [*found.servers] == ["a", "a-b", "ab"]


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
    found = servers(tmp_path, text)
    assert {name: spec.line for name, spec in found.items()} == {
        "files": 4,
        "git": 10,
        "same": 10,
    }


def test_a_server_asks_for_a_sandbox_by_itself(tmp_path: Path) -> None:
    table = {"a": {"command": "x", "sandbox": True}, "b": {"command": "x", "sandbox": False}}
    text = json.dumps({"mcpServers": {**table, "c": {"command": "x"}}})
    settings = Sandbox(network=True)
    found = servers(tmp_path, text, sandbox=settings)
    assert [found[name].sandbox for name in "abc"] == [settings, None, None]
