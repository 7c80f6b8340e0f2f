"""A tool server that behaves as badly as real ones do, by the words of its command line.

The first argument is a file to which it writes the ids of its processes.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

EMPTY = {"type": "object", "properties": {}}
TOOLS: list[Any] = [
    {"name": "list_plots", "description": "List plots.", "inputSchema": EMPTY},
    {"name": "plots.get/one", "inputSchema": EMPTY},
    {"name": "Get Plot", "inputSchema": EMPTY},
    {"name": f"synchronise{'_all' * 30}", "inputSchema": EMPTY},
    {"name": "no_type", "inputSchema": {"properties": {"a": {"type": "string"}}}},
    {"name": "no_schema"},
    {"name": "nullable", "inputSchema": {"type": ["object", "null"], "properties": None}},
    {"name": "talkative", "description": "x" * 100_000, "inputSchema": EMPTY},
    {
        "name": "structured",
        "inputSchema": EMPTY,
        "outputSchema": {"type": "object", "required": ["a"]},
    },
    {"name": "no_object", "inputSchema": {"type": "string"}},
    {"name": "list_plots", "description": "again", "inputSchema": EMPTY},
    {"inputSchema": EMPTY},
    "plots",
]


def child(*, session: bool = False) -> int:
    """Start a process that ignores what asks it to end."""
    waits = "trap '' TERM HUP INT; while :; do sleep 60 & wait; done"
    nothing = subprocess.DEVNULL
    started = subprocess.Popen(
        ["sh", "-c", waits],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        start_new_session=session,
    )
    return started.pid


def result_of(method: str, params: dict[str, Any], modes: set[str]) -> Any:
    match method:
        case "initialize":
            about = {"name": "odd", "version": "1"}
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}} | ({"resources": {}} if "endless" in modes else {}),
                "serverInfo": about,
            }
        case "resources/list" | "resources/templates/list" if "endless" in modes:
            page = int(params.get("cursor", 0)) + 1
            kind = "resources" if method == "resources/list" else "resourceTemplates"
            listed = [{"uri": f"plot://{page}", "name": "plot", "uriTemplate": "plot://{a}"}]
            return {kind: listed, "nextCursor": str(page)}
        case "tools/list":
            return {"tools": TOOLS, "nextCursor": None}
        case "tools/call":
            return {"content": [{"type": "text", "text": f"called {params['name']}"}]}
        case _:
            return None


def main(pids: Path, modes: set[str]) -> None:
    if "deaf" in modes:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    started = [os.getpid()]
    started += [child()] if "child" in modes else []
    started += [child(session=True)] if "session" in modes else []
    pids.write_text(" ".join(map(str, started)))
    if "exit" in modes:
        sys.exit(1)
    for line in sys.stdin:
        if "noise" in modes:
            print("Listening on stdio...\n\nDEBUG {not json", flush=True)  # noqa: T201 - as it does
        message = json.loads(line)
        if "id" not in message:
            continue
        result = result_of(message["method"], message.get("params", {}), modes)
        outcome = (
            {"error": {"code": -32601, "message": "no"}} if result is None else {"result": result}
        )
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}), flush=True)  # noqa: T201 - the protocol
    while "deaf" in modes:
        signal.pause()


if __name__ == "__main__":
    main(Path(sys.argv[1]), set(sys.argv[2:]))
