"""Servers that behave badly, beside one that works, on both libraries."""

import os
import sys
from pathlib import Path

import pytest
from tests.genie_core.assistant.servers import odd_server
from tests.genie_core.assistant.servers.odd_web import odd_web
from tests.genie_core.assistant.servers.rig import SHOUT, Program, bench

from genie_core.assistant.servers.config_file import ServerSpec
from genie_core.assistant.servers.resources import MOST_PAGES
from genie_testing.turns import Call

pytestmark = pytest.mark.timeout(300)


def odd(folder: Path, *modes: str) -> ServerSpec:
    args = (str(Path(odd_server.__file__)), str(folder / "pids"), *modes)
    return ServerSpec("odd", sys.executable, args)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a process adopt orphans")
@pytest.mark.parametrize(
    "modes",
    [
        ("child",),
        ("session",),
        ("child", "deaf"),
        ("session", "deaf"),
        ("child", "exit"),
        ("deaf",),
    ],
)
async def test_no_process_outlives_its_server(
    runtime: str, tmp_path: Path, program: Program, modes: tuple[str, ...]
) -> None:
    async with bench(runtime, odd(tmp_path, *modes), program.spec()) as made:
        assert await made.result() == "HEY"
        pids = [int(each) for each in (tmp_path / "pids").read_text().split()]
        assert ("exit" in modes) or all(map(alive, pids))
    assert [pid for pid in pids if alive(pid)] == []


async def test_junk_between_messages_is_skipped(runtime: str, tmp_path: Path) -> None:
    async with bench(runtime, odd(tmp_path, "noise")) as made:
        assert await made.result(Call("odd_list_plots", {})) == "called list_plots"


async def test_endless_pages_of_resources_are_cut(runtime: str, tmp_path: Path) -> None:
    async with bench(runtime, odd(tmp_path, "endless")) as made:
        listed = await made.result(Call("odd_list_resources", {}))
        resources = [f"plot://{page} · plot" for page in range(1, MOST_PAGES + 1)]
        templates = ["template plot://{a} · plot"] * MOST_PAGES
        assert listed.splitlines() == resources + templates
        assert made.state == "ready"


async def test_odd_tools_work_or_are_left_out_by_name(
    runtime: str, tmp_path: Path, program: Program
) -> None:
    async with bench(runtime, odd(tmp_path), program.spec()) as made:
        names = ("list_plots", "no_type", "no_schema", "nullable", "talkative", "structured")
        last = await made.ask(*(Call(f"odd_{name}", {}) for name in names), SHOUT)
        assert last.tool_results == [*(f"called {name}" for name in names), "HEY"]
        offered = [name for name in last.tools if name.startswith("odd_")]
        assert {f"odd_{name}" for name in names} <= set(offered)
        assert len(offered) == 9
        assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() for name in offered)
        server = made.board.servers[0]
        assert (server.state, server.tools) == ("ready", 9)
        for part in (
            "no_object: its arguments are",
            "list_plots (11): its name occurs twice",
            "tool 12",
        ):
            assert part in server.detail
        assert any("its tool 'no_object' is not offered" in each for each in made.notes.notes)


async def test_server_over_events_works(runtime: str) -> None:
    async with odd_web() as web:
        url = web.url("/sse")
        spec = ServerSpec("toy", url=url, headers={"X-Key": "k"}, sse=True, legacy=True)
        async with bench(runtime, spec) as made:
            assert await made.result() == "HEY"
            assert made.state == "ready"
            assert any(head.startswith("POST /messages?session_id=1") for head in web.heads)
            assert all("x-key: k" in head.lower() for head in web.heads)


@pytest.mark.parametrize("refusal", ["404 Not Found", "400 Bad Request"])
async def test_forgotten_session_is_opened_again(
    runtime: str, program: Program, refusal: str
) -> None:
    async with odd_web() as web:
        spec = ServerSpec("web", url=web.url("/mcp"))
        async with bench(runtime, spec, program.spec()) as made:
            assert await made.result(Call("web_shout", {"text": "hey"})) == "HEY"
            web.sessions.clear()
            web.refusal = refusal
            assert await made.result(Call("web_shout", {"text": "you"})) == "YOU"
            assert await made.result() == "HEY"


@pytest.mark.parametrize(("path", "sse", "cure"), [("/sse", False, "sse"), ("/mcp", True, "http")])
async def test_wrong_way_over_http_says_what_to_write(
    runtime: str, program: Program, path: str, cure: str, *, sse: bool
) -> None:
    async with odd_web() as web:
        spec = ServerSpec("web", url=web.url(path), sse=sse, legacy=sse)
        async with bench(runtime, spec, program.spec()) as made:
            assert await made.result() == "HEY"
            assert made.state == "down"
            assert f'write "type": "{cure}"' in made.board.servers[0].detail
