"""Real programs against a scripted LLM server on loopback; no key and no internet.

They run if they are on PATH or in the folder that GENIE_AGENT_PROGRAMS names, such as the
`node_modules/.bin` after `npm install opencode-ai @agentclientprotocol/codex-acp`.
"""

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.genie_core.agent.provider.acp.rig import Judge, Sink, ask, gone

from genie_core.agent import Verdict
from genie_core.agent.provider.acp import AgentProgram, DefaultAgent
from genie_core.runtime.agent_options import MODE, AgentOptions, of_category

COMMAND = "touch made_by_agent.txt"
ANSWER = "Done, the file is there."
TOOL = "who_is_here"
QUESTION = "who is here?"


async def who_is_here() -> str:
    """List who is in the room."""
    return "Ann and the walrus"


class Model(BaseHTTPRequestHandler):
    """Asks for a tool first, for ours if that is the question, and answers when it has the result."""

    results: ClassVar[list[str]] = []

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        body = json.dumps({"object": "list", "data": [{"id": "fake", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        names = [
            f"{group}{tool.get('function', tool).get('name')}"
            for each in body.get("tools", [])
            for group, tool in (
                [(each["name"], inner) for inner in each["tools"]]
                if each.get("type") == "namespace"
                else [("", each)]
            )
        ]
        self.results.append(json.dumps(body.get("input", body.get("messages"))))
        if QUESTION not in self.results[-1]:
            names = [each for each in names if not each.endswith(TOOL)]
        if self.path.endswith("/responses"):
            self._respond(body, names)
        else:
            self._chat(body, names)

    def _event(self, data: Any, name: str = "") -> None:
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write((f"event: {name}\n" if name else "").encode())
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def _respond(self, body: dict[str, Any], names: list[str]) -> None:
        items = [each for each in body.get("input", []) if isinstance(each, dict)]
        done = any(str(each.get("type")).endswith("_output") for each in items)
        begun = {"id": "r1", "object": "response", "status": "in_progress", "output": []}
        self._event({"type": "response.created", "response": begun}, "response.created")
        item: dict[str, Any]
        if names and not done:
            ours = [each for each in names if each.endswith(TOOL)]
            shells = [each for each in ("shell", "exec_command") if each in names]
            name = (ours + shells + names)[0]
            arguments: dict[str, Any] = {"command": ["bash", "-lc", COMMAND]}
            if ours:
                arguments = {}
            elif name != "shell":
                arguments = {"cmd": COMMAND, "sandbox_permissions": "require_escalated",
                             "justification": "make a file"}  # fmt: skip
            item = {"type": "function_call", "id": "fc1", "call_id": "c1", "name": name,
                    "arguments": json.dumps(arguments), "status": "completed"}  # fmt: skip
            if ours and name.removesuffix(TOOL) and "namespace" in json.dumps(body["tools"]):
                item |= {"name": TOOL, "namespace": name.removesuffix(TOOL)}
        else:
            content = [{"type": "output_text", "text": ANSWER, "annotations": []}]
            item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
                    "content": content}  # fmt: skip
            start = {**item, "content": [], "status": "in_progress"}
            name = "response.output_item.added"
            self._event({"type": name, "output_index": 0, "item": start}, name)
            name = "response.output_text.delta"
            delta = {"type": name, "item_id": "m1", "output_index": 0, "content_index": 0}
            self._event({**delta, "delta": ANSWER}, name)
        name = "response.output_item.done"
        self._event({"type": name, "output_index": 0, "item": item}, name)
        usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15,
                 "input_tokens_details": {"cached_tokens": 0},
                 "output_tokens_details": {"reasoning_tokens": 0}}  # fmt: skip
        ended = {**begun, "status": "completed", "output": [item], "usage": usage}
        self._event({"type": "response.completed", "response": ended}, "response.completed")

    def _chat(self, body: dict[str, Any], names: list[str]) -> None:
        done = any(each.get("role") == "tool" for each in body.get("messages", []))
        base = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "fake"}
        delta: dict[str, Any] = {"content": ANSWER}
        reason = "stop"
        ours = [each for each in names if each.endswith(TOOL)]
        if "bash" in names and not done:
            arguments = json.dumps({"command": COMMAND, "description": "make a file"})
            wanted = {"name": ours[0], "arguments": "{}"} if ours else None
            call = {"index": 0, "id": "call1", "type": "function",
                    "function": wanted or {"name": "bash", "arguments": arguments}}  # fmt: skip
            delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        self._event({**base, "choices": [choice]})
        choice = {"index": 0, "delta": {}, "finish_reason": reason}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        self._event({**base, "choices": [choice], "usage": usage})
        self._event("[DONE]")


@contextmanager
def model_server() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def program(name: str) -> str:
    folder = os.environ.get("GENIE_AGENT_PROGRAMS", "")
    found = shutil.which(name, path=f"{folder}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        pytest.skip(f"{name} is not installed: see the docstring of this module")
    return found


def codex(address: str, _workspace: Path, home: Path) -> tuple[str, ...]:
    found = program("codex-acp")
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(
        f"""
        model = "fake"
        model_provider = "fake"
        [model_providers.fake]
        name = "fake"
        base_url = "{address}"
        wire_api = "responses"
        """
    )
    return (found,)


def opencode(address: str, _workspace: Path, home: Path) -> tuple[str, ...]:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": address, "apiKey": "none"},
        "models": {"fake": {"name": "fake"}},
    }
    settings = {
        "provider": {"fake": provider},
        "model": "fake/fake",
        "small_model": "fake/fake",
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": False,
    }
    found = program("opencode")
    folder = home / "config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.json").write_text(json.dumps(settings))
    return (found, "acp")


def environment(home: Path) -> dict[str, str]:
    """Keep a program to one home: opencode otherwise reads the settings of all folders above."""
    names = ("CONFIG", "DATA", "CACHE", "STATE")
    folders = {f"XDG_{name}_HOME": str(home / name.lower()) for name in names}
    return {"HOME": str(home), "OPENCODE_DISABLE_PROJECT_CONFIG": "1", **folders}


@pytest.mark.parametrize("make", [codex, opencode])
async def test_a_real_program_uses_a_tool_of_ours(make: Any, tmp_path: Path) -> None:
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    Model.results.clear()
    with model_server() as address:
        given = AgentProgram(
            make(address, workspace, home), environment(home), modes=("read-only",)
        )
        options = AgentOptions()
        agent = DefaultAgent(given, workspace, tools=[who_is_here], options=options)
        judge, sink = Judge(), Sink()
        async with agent.mcp():
            answer = await ask(agent, QUESTION, judge, sink=sink)
    assert ANSWER in answer
    assert judge.asked == [(TOOL, {})]
    assert any("Ann and the walrus" in each for each in Model.results)
    assert not any("on its own" in each for each in sink.of("note"))
    mode = of_category(options.known, MODE)
    assert mode is not None
    assert mode.value in ("read-only", "build")
    assert "review" in {each.name for each in options.commands}


@pytest.mark.parametrize("make", [codex, opencode])
@pytest.mark.parametrize("allowed", [True, False])
async def test_real_program_asks_before_writing(make: Any, allowed: bool, tmp_path: Path) -> None:
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    workspace.mkdir()
    home.mkdir()
    env = environment(home)
    with model_server() as address:
        command = make(address, workspace, home)
        agent = DefaultAgent(AgentProgram(command, env, modes=("read-only",)), workspace)
        judge, sink = Judge(Verdict(approved=allowed, reason=None if allowed else "no")), Sink()
        async with agent.mcp():
            answer = await ask(agent, "make a file please", judge, sink=sink)
            pid = agent.pid
            assert pid
        await gone(pid)
    [(name, arguments)] = judge.asked
    assert name == "run_command"
    assert COMMAND in arguments["command"]
    assert (workspace / "made_by_agent.txt").exists() == allowed
    if allowed:
        assert ANSWER in answer
        assert sink.usages
        assert not any("on its own" in each for each in sink.of("note"))
