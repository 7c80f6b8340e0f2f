"""A tool server that starts quickly and fails as it is told.

It is a program that speaks MCP on stdio, and imports nothing that takes time. What it does is in a
file that it reads as it starts: one word, and what is to be listed, as JSON.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHOUT = {
    "name": "shout",
    "description": "Say it in capitals.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    },
}


def tool(name: str, description: str = "Does something.") -> dict[str, Any]:
    return {"name": name, "description": description, "inputSchema": {"type": "object"}}


FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer", "minimum": 0},
    },
    "required": ["name"],
}
REQUESTS: dict[str, dict[str, Any]] = {
    "ask": {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": "Who are you?", "requestedSchema": FORM},
    },
    "visit": {
        "method": "elicitation/create",
        "params": {
            "mode": "url",
            "message": "Pay first",
            "url": "https://pay.example/1",
            "elicitationId": "e1",
        },
    },
    "sample": {
        "method": "sampling/createMessage",
        "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Say a word"}}],
            "systemPrompt": "Be short.",
            "maxTokens": 100,
        },
    },
}
"""What a tool of the server asks of its client, and returns the answer to."""

ENDLESS = tool("flood", "Return a text without an end.")
TOOLS = [SHOUT, tool("crash"), tool("hang"), tool("fail"), tool("tell"), ENDLESS, tool("huge")]

HUGE = 50_000_000
"""Characters of the result of `huge`, which is written in pieces."""


def huge(message: dict[str, Any], size: int = HUGE) -> Iterator[str]:
    yield f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": '
    yield '{"content": [{"type": "text", "text": "it begins \\u00e9'
    for _ in range(size // 100_000):
        yield "x" * 100_000
    yield '"}]}}'


def result_of(method: str, params: dict[str, Any], tools: list[dict[str, Any]]) -> Any:
    """What is answered, None for a method that there is not."""
    match method, params:
        case "initialize", _:
            version = params["protocolVersion"]
            about = {"name": "toy", "version": "1"}
            capabilities = {"tools": {"listChanged": True}}
            return {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about}
        case "tools/list", _:
            return {"tools": tools}
        case "tools/call", {"name": "shout", "arguments": {"text": text}}:
            return said(text.upper())
        case "tools/call", {"name": "flood"}:
            return {"content": [*said("x" * 60_000)["content"], *said("y" * 60_000)["content"]]}
        case "tools/call", {"name": "fail"}:
            return {**said("it is broken"), "isError": True}
        case "tools/call", {"name": "tell"}:
            process: dict[str, Any] = {
                "process": os.getpid(),
                "env": dict(os.environ),
                "args": sys.argv[1:],
            }
            return said(json.dumps({"cwd": str(Path.cwd()), **process}))
        case _:
            return None


def said(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def answer(message: dict[str, Any], tools: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The answer to a message, None for a notification."""
    if "id" not in message:
        return None
    result = result_of(message["method"], message.get("params", {}), tools)
    outcome = (
        {"error": {"code": -32601, "message": "Method not found"}}
        if result is None
        else {"result": result}
    )
    return {"jsonrpc": "2.0", "id": message["id"], **outcome}


def requested(request: dict[str, Any]) -> Any:
    """Send a request to the client during a call, once or `times` often; return its last answer."""
    answer: Any = None
    for number in range(request.pop("times", 1)):
        print(json.dumps({"jsonrpc": "2.0", "id": f"r{number}", **request}), flush=True)  # noqa: T201 - the protocol
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("id") == f"r{number}" and "method" not in message:
                answer = message.get("result") or message.get("error")
                break
    return answer


def serve(mode: str, tools: list[dict[str, Any]]) -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message["method"], message.get("params", {})
        if method == "tools/call" and params["name"] == "crash":
            os._exit(3)
        if method == "tools/call" and params["name"] in REQUESTS:
            params = {**REQUESTS[params["name"]], **params.get("arguments", {})}
            told = said(json.dumps(requested(params)))
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": told}), flush=True)  # noqa: T201 - the protocol
            continue
        if mode == "deaf" or (method == "tools/call" and params["name"] == "hang"):
            continue
        if mode == "unlisted" and method == "tools/list":
            continue
        if method == "tools/call" and params["name"] == "huge":
            for piece in huge(message):
                sys.stdout.write(piece)
            print(flush=True)  # noqa: T201 - the protocol
        elif (reply := answer(message, tools)) is not None:
            print(json.dumps(reply), flush=True)  # noqa: T201 - the protocol


if __name__ == "__main__":
    script = json.loads(Path(sys.argv[1]).read_text())
    print("hello from the server", script.get("says", ""), file=sys.stderr, flush=True)  # noqa: T201 - for the log
    if script["mode"] == "exit":
        sys.exit(2)
    while script["mode"] == "stuck":
        time.sleep(60)
    while script["mode"] == "slow" and not Path(script["until"]).exists():
        time.sleep(0.01)
    serve(script["mode"], script.get("tools", TOOLS))
