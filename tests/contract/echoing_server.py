"""A tool server on stdio that repeats the secret it was given in every way it can."""

import base64
import json
import os
import sys
from hashlib import sha256
from typing import Any

VALUE = os.environ.get("ECHOED", "")
CODED = base64.b64encode(f"key:{VALUE}".encode()).decode()
SCHEMA = {"type": "object", "properties": {"with": {"type": "string"}}}
TOOLS = [{"name": name, "description": name, "inputSchema": SCHEMA} for name in ("tell", "fail")]


def result_of(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            about = {"name": "echo", "version": "1"}
            version = params["protocolVersion"]
            return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            given = sha256(params.get("arguments", {}).get("with", "").encode()).hexdigest()
            text = json.dumps({"plain": VALUE, "coded": CODED, "given": given})
            failed = params["name"] == "fail"
            return {"content": [{"type": "text", "text": text}], "isError": failed}
        case _:
            return None


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = result_of(message["method"], message.get("params", {}))
            unknown = {"error": {"code": -32601, "message": "Method not found"}}
            reply = {"jsonrpc": "2.0", "id": message["id"]}
            reply |= unknown if result is None else {"result": result}
            print(json.dumps(reply), flush=True)  # noqa: T201 - the protocol
        print(f"stderr has {VALUE}, too", file=sys.stderr, flush=True)  # noqa: T201 - for the log
