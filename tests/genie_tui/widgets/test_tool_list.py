import pytest
from tests.genie_tui.scripted_bench import ScriptedBench

from genie_core.room.engine.controls import ServerInfo, ToolInfo
from genie_tui.widgets.tool_list import tool_list


def lines(bench: ScriptedBench, width: int = 76) -> list[str]:
    return [line.rstrip() for line in tool_list(bench, width).plain.split("\n")]


def test_agents_list_tools_with_reasons() -> None:
    shown = lines(ScriptedBench())
    assert shown[0] == "genie  openai:gpt-5 · pydantic-ai"
    assert shown[2].split() == ["read_file", "read", "allowed", "it", "only", "reads"]
    assert shown[3].split()[:4] == ["write_file", "write", "asks", "it"]
    coder = shown.index("coder  ollama:qwen · openai-agents")
    assert shown[coder + 2].split()[:3] == ["read_file", "read", "denied"]
    assert shown[coder + 3] == ""


def test_servers_list_state_and_countdown() -> None:
    shown = lines(ScriptedBench())
    git = shown.index("git  ready · 1 tool")
    assert shown[git + 1].split()[:3] == ["git_read_file", "unknown", "asks"]
    web = shown.index("web  down · not tried again for 13 s")
    assert shown[web + 1] == "  it did not␤start"
    assert "late  down · tried again when it is needed" in shown
    assert "other  starts when it is needed" in shown
    assert "next  starting…" in shown


def test_server_claims_and_omissions_show() -> None:
    wipe = ToolInfo("", "git_wipe", "", "unknown", "ask", "no rule allows it", "git", "[b]it reads")
    bench = ScriptedBench(tools=[wipe], servers=(ServerInfo("git", "ready", 1, left_out=3),))
    head, tool = lines(bench, 100)[-2:]
    assert head == "git  ready · 1 tool · 3 more are left out"
    assert tool.endswith("no rule allows it; its server says that [b]it reads")


def test_what_others_wrote_is_text() -> None:
    text = tool_list(ScriptedBench(), 100).plain
    assert "\x1b" not in text
    assert "[b]server" in text


@pytest.mark.parametrize("width", [76, 116])
def test_tools_take_one_line_each(width: int) -> None:
    long = ToolInfo("system", "x" * 64, "", "network", "ask", "because " * 40)
    content = tool_list(ScriptedBench(tools=[long], servers=()), width)
    tool = content.plain.split("\n")[2]
    assert tool.startswith("  xxxx")
    assert len(tool) <= width
    assert tool.endswith("…")


def test_names_take_no_more_room_than_they_need() -> None:
    tool = ToolInfo("system", "rooms", "", "read", "ask", "it reads your other rooms")
    assert lines(ScriptedBench(tools=[tool], servers=()), 60)[2].endswith(
        "it reads your other rooms"
    )


def test_narrow_list_keeps_name_and_effect() -> None:
    names = ("summarise_conversation", "x" * 64)
    tools = [ToolInfo("system", name, "", "network", "ask", "because") for name in names]
    shown = lines(ScriptedBench(tools=tools, servers=()), 34)
    assert shown[2].split() == [names[0], "asks"]
    assert shown[3].split()[0].endswith("…")
    assert max(map(len, shown)) <= 34


def test_no_servers_means_no_heading() -> None:
    assert "Tool servers" not in tool_list(ScriptedBench(servers=()), 76).plain


def test_parts_that_are_not_used_are_listed() -> None:
    servers = (ServerInfo("bad", "left out", detail="mcp.json, line 2: [b]it"),)
    problems = ("mcp.json, line 2: [b]it", "settings.toml, line 3: no\x1bsuch rule")
    shown = lines(ScriptedBench(servers=servers, problems=problems))
    assert shown[-5:] == [
        "bad  left out",
        "  mcp.json, line 2: [b]it",
        "",
        "Not used",
        "  settings.toml, line 3: no␛such rule",
    ]
