"""Tool calls of programs as calls of our own tools."""

from pathlib import Path
from typing import Any

import pytest
from acp.schema import ToolCallUpdate

from genie_core.agent.provider.acp.tool_calls import KnownCall, mapped, relative_path


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    (tmp_path / ".hidden").write_text("x")
    (tmp_path / "out").symlink_to("/etc")
    (tmp_path / "sub").mkdir()
    return str(tmp_path)


def call(folder: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    update = ToolCallUpdate.model_validate({"toolCallId": "1", **fields})
    made = mapped(KnownCall("1").updated(update), folder)
    return made.name, made.arguments


def diff(path: str, old: str | None, new: str) -> dict[str, Any]:
    return {"type": "diff", "path": path, "oldText": old, "newText": new}


@pytest.mark.parametrize(
    ("raw", "arguments"),
    [
        ({"command": "git status"}, {"command": "git status"}),
        (
            {"command": "touch a.txt", "description": "make a file", "timeout": 5},
            {"command": "touch a.txt"},
        ),
        ({"command": "ls | wc"}, {"command": "ls | wc", "shell": True}),
        ({"command": "echo $HOME"}, {"command": "echo $HOME", "shell": True}),
        ({"command": "A=1 make"}, {"command": "A=1 make", "shell": True}),
        ({"command": "a\nb"}, {"command": "a\nb", "shell": True}),
        ({"command": ["git", "commit", "-m", "a b"]}, {"command": "git commit -m 'a b'"}),
        ({"command": ["echo", "$HOME"]}, {"command": "echo '$HOME'"}),
        ({"command": ["bash", "-lc", "ls > x"]}, {"command": "ls > x", "shell": True}),
        (
            {"call_id": "c1", "turn_id": "2", "command": ["/bin/sh", "-c", "ls"], "reason": None},
            {"command": "ls"},
        ),
        ({"command": "ls", "workdir": "sub"}, {"command": "ls", "folder": "sub"}),
    ],
)
def test_a_command_is_one_of_our_command_tool(
    folder: str, raw: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert call(folder, kind="execute", rawInput=raw) == ("run_command", arguments)


def test_workspace_folder_is_not_named(folder: str) -> None:
    raw = {"command": "ls", "cwd": folder}
    assert call(folder, kind="execute", rawInput=raw) == ("run_command", {"command": "ls"})


@pytest.mark.parametrize(
    "raw",
    [
        {"command": "ls", "env": {"LD_PRELOAD": "evil.so"}},
        {"command": "ls", "cwd": "/etc"},
        {"command": "ls", "cwd": "sub", "workdir": "/etc"},
        {"command": "ls", "dangerouslyDisableSandbox": True},
        {"command": ["bash", "-c", "ls", "more"]},
        {"command": ["ls", 5]},
        {"command": ""},
        {"command": []},
        {"command": {"ls": 1}},
        {"script": "ls"},
        {},
    ],
)
def test_unclear_command_shows_raw_input(folder: str, raw: dict[str, Any]) -> None:
    name, arguments = call(folder, kind="execute", title="git status", rawInput=raw)
    assert name == "acp_execute"
    assert arguments == {**raw, "title": "git status"}


def test_a_title_is_not_what_a_call_does(folder: str) -> None:
    raw = {"command": "rm -rf /"}
    made = call(folder, kind="execute", title="ls", rawInput=raw)
    assert made == ("run_command", {"command": "rm -rf /"})
    made = call(folder, kind="other", title="read_file", rawInput={"title": "x", "to": 1})
    assert made == ("acp_other", {"title": "x", "to": 1, "acp_title": "read_file"})


def test_title_only_command_stays_title(folder: str) -> None:
    assert call(folder, kind="execute", title="git push") == ("acp_execute", {"title": "git push"})


def test_a_new_file_is_written(folder: str) -> None:
    path = f"{folder}/new.txt"
    raw = {"file_path": path, "content": "hello"}
    made = call(folder, kind="edit", content=[diff(path, None, "hello")], rawInput=raw)
    assert made == ("write_file", {"path": "new.txt", "content": "hello"})


def test_a_file_that_exists_is_overwritten(folder: str) -> None:
    made = call(folder, kind="edit", content=[diff(f"{folder}/notes.txt", None, "x")])
    assert made == ("write_file", {"path": "notes.txt", "content": "x", "overwrite": True})


def test_a_replacement_is_an_edit(folder: str) -> None:
    path = f"{folder}/notes.txt"
    raw = {"file_path": path, "old_string": "one", "new_string": "1", "replace_all": True}
    made = call(
        folder, kind="edit", content=[diff(path, "one", "1")], rawInput=raw,
        locations=[{"path": path}],
    )  # fmt: skip
    arguments = {"path": "notes.txt", "old": "one", "new": "1", "everywhere": True}
    assert made == ("edit_file", arguments)


def test_program_diff_is_shown_with_edit(folder: str) -> None:
    path = f"{folder}/notes.txt"
    raw = {"filepath": path, "diff": "--- a\n+++ b\n"}
    name, arguments = call(folder, kind="edit", content=[diff(path, "one", "1")], rawInput=raw)
    assert name == "edit_file"
    assert arguments["raw_input"] == {"diff": "--- a\n+++ b\n"}


@pytest.mark.parametrize(
    "raw",
    [
        {"file_path": "/etc/passwd"},
        {"file_path": "sub/other.txt"},
        {"file_path": "notes.txt", "new_string": "something else"},
        {"file_path": "notes.txt", "old_string": "1"},
        {"file_path": "notes.txt", "and": "more"},
        {"changes": {"sub/a.txt": {"add": {"content": "1"}}}},
        {"changes": ["notes.txt"]},
        "notes.txt",
    ],
)
def test_differing_raw_input_shows_both(folder: str, raw: Any) -> None:
    path = f"{folder}/notes.txt"
    name, arguments = call(folder, kind="edit", content=[diff(path, "one", "1")], rawInput=raw)
    assert name == "acp_edit"
    shown = [{"path": path, "old": "one", "new": "1"}]
    assert shown in (arguments["changes"], arguments.get("acp_changes"))
    for key, value in raw.items() if isinstance(raw, dict) else [("raw_input", raw)]:
        assert value in (arguments.get(key), arguments.get(f"acp_{key}"))


def test_an_edit_of_several_files_shows_all(folder: str) -> None:
    content = [diff("a.txt", None, "1"), diff("b.txt", None, "2")]
    name, arguments = call(folder, kind="edit", content=content)
    assert name == "acp_edit"
    assert len(arguments["changes"]) == 2


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "out/passwd", ".hidden", "~/x", "", "a\0"])
def test_outside_file_is_no_own_tool(folder: str, path: str) -> None:
    assert relative_path(folder, path) is None
    assert call(folder, kind="read", rawInput={"path": path})[0] == "acp_read"
    assert call(folder, kind="edit", content=[diff(path, None, "x")])[0] == "acp_edit"


def test_a_file_is_read(folder: str) -> None:
    raw = {"file_path": f"{folder}/notes.txt", "offset": 1, "limit": 5}
    assert call(folder, kind="read", rawInput=raw) == ("read_file", {"path": "notes.txt"})


def test_read_with_extras_is_no_own_tool(folder: str) -> None:
    raw = {"path": "notes.txt", "then": "send it"}
    assert call(folder, kind="read", rawInput=raw)[0] == "acp_read"
    made = call(folder, kind="read", rawInput={"path": "notes.txt"}, locations=[{"path": "/etc/x"}])
    assert made[0] == "acp_read"


def test_a_page_is_fetched(folder: str) -> None:
    raw = {"url": "https://example.org/", "format": "markdown"}
    assert call(folder, kind="fetch", rawInput=raw) == ("fetch_url", {"url": raw["url"]})
    for odd in ({"url": "file:///etc/passwd"}, {"url": "https://x/", "body": "y"}, {}):
        assert call(folder, kind="fetch", rawInput=odd)[0] == "acp_fetch"


@pytest.mark.parametrize("kind", ["delete", "move", "other", "switch_mode", "think", "search"])
def test_other_kinds_keep_their_name(folder: str, kind: str) -> None:
    name, arguments = call(folder, kind=kind, title="T", rawInput={"to": [1]})
    assert (name, arguments) == (f"acp_{kind}", {"to": [1], "title": "T"})


def test_a_kind_that_is_unheard_of_is_another(folder: str) -> None:
    assert call(folder, kind="teleport", title="T")[0] == "acp_other"


def test_omitted_folder_still_counts(folder: str) -> None:
    first = ToolCallUpdate(tool_call_id="1", kind="execute", raw_input={"cwd": "/etc"})
    asked = ToolCallUpdate(tool_call_id="1", raw_input={"command": "ls"})
    made = mapped(KnownCall("1").updated(first).updated(asked), folder)
    assert (made.name, made.arguments["cwd"]) == ("acp_execute", "/etc")


def test_what_a_later_update_leaves_out_stays() -> None:
    known = KnownCall("1").updated(
        ToolCallUpdate(tool_call_id="1", title="T", kind="execute", raw_input={"command": "ls"})
    )
    known = known.updated(ToolCallUpdate(tool_call_id="1", status="completed"))
    assert (known.title, known.kind, known.status) == ("T", "execute", "completed")
    assert known.raw_input == {"command": "ls"}
