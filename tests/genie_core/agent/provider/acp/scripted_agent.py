"""An ACP agent that follows a script, in raw lines of JSON; it needs only the standard library.

Started with the path of a socket, to which it writes a line for all that it does, and that of a
folder with `script.json`, in which it keeps its sessions and how many turns it has taken.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Cancelled(Exception):
    pass


class Agent:
    def __init__(self, address: str, folder: Path) -> None:
        self.folder = folder
        self.script = json.loads((folder / "script.json").read_text())
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(address)
        self.number = 1000
        self.cancelled = False
        self.session = ""
        self.history: list[Any] = []
        self.servers: list[Any] = []

    def log(self, what: str, **more: object) -> None:
        self.line.sendall((json.dumps({"what": what, **more}) + "\n").encode())

    def send(self, message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def update(self, update: dict[str, Any], session: str = "") -> None:
        params = {"sessionId": session or self.session, "update": update, "unheard": {"of": 1}}
        self.send({"method": "session/update", "params": params})

    def say(self, text: str) -> None:
        chunk = {"type": "text", "text": text}
        self.update({"sessionUpdate": "agent_message_chunk", "content": chunk})
        if self.history and self.history[-1][0] == "agent":
            self.history[-1][1] += text
        else:
            self.history.append(["agent", text])
        self.save()

    def save(self) -> None:
        if self.script.get("load") or self.script.get("resume"):
            file = self.folder / f"{self.session}.json"
            file.write_text(json.dumps(self.history))

    def receive(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        message: dict[str, Any] = json.loads(line)
        return message

    def main(self) -> None:
        self.log("started", pid=os.getpid(), cwd=str(Path.cwd()), env=dict(os.environ))
        for step in self.script.get("at_start", []):
            self.do(step)
        while True:
            self.handle(self.receive())

    def handle(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            self.log(
                "answer", id=message.get("id"), **{k: message.get(k) for k in ("result", "error")}
            )
            return
        if method == "session/prompt":
            self.prompt(message["id"], params)
            return
        self.log(method, params=params)
        if method == "session/cancel":
            self.cancelled = True
        elif method == "initialize":
            self.send({"id": message["id"], "result": self.initialize()})
        elif method == "session/new":
            self.servers = params["mcpServers"]
            if error := self.script.get("new_error"):
                self.send({"id": message["id"], "error": error})
                return
            count = len(list(self.folder.glob("new-*")))
            self.session, self.history = f"session-{count + 1}", []
            (self.folder / f"new-{self.session}").touch()
            new = {"sessionId": self.session, "odd": [], "modes": self.script.get("modes")}
            new["configOptions"] = self.script.get("config")
            self.send({"id": message["id"], "result": new})
            if commands := self.script.get("commands"):
                kind = "available_commands_update"
                self.update({"sessionUpdate": kind, "availableCommands": commands})
        elif method == "session/set_mode":
            if error := self.script.get("mode_error"):
                self.send({"id": message["id"], "error": error})
            else:
                self.send({"id": message["id"], "result": {}})
        elif method == "session/set_config_option":
            for option in self.script["config"]:
                if option["id"] == params["configId"]:
                    option["currentValue"] = params["value"]
            self.send({"id": message["id"], "result": {"configOptions": self.script["config"]}})
        elif method in ("session/load", "session/resume"):
            self.servers = params["mcpServers"]
            file = self.folder / f"{params['sessionId']}.json"
            if not file.exists():
                self.send({"id": message["id"], "error": {"code": -32002, "message": "gone"}})
                return
            self.session, self.history = params["sessionId"], json.loads(file.read_text())
            if method == "session/load":
                for who, text in self.history:
                    kind = f"{who}_message_chunk"
                    content = {"type": "text", "text": text}
                    self.update({"sessionUpdate": kind, "content": content})
            self.send({"id": message["id"], "result": {"modes": self.script.get("modes")}})

    def initialize(self) -> dict[str, Any]:
        able = self.script.get("able", ["image", "audio", "embeddedContext"])
        can = {
            "loadSession": bool(self.script.get("load")),
            "promptCapabilities": dict[str, Any].fromkeys(able, True),
            "sessionCapabilities": {"resume": {}} if self.script.get("resume") else {},
        }
        return {
            "protocolVersion": self.script.get("version", 1),
            "agentCapabilities": can,
            "authMethods": [{"id": "web", "name": "Log in on the web"}],
            "unheardOf": True,
        }

    def prompt(self, number: int, params: dict[str, Any]) -> None:
        texts = [each["text"] for each in params["prompt"] if each["type"] == "text"]
        files = []
        for each in params["prompt"]:
            if each["type"] == "resource":
                files.append(each["resource"]["mimeType"])
                texts += [each["resource"]["text"]] if "text" in each["resource"] else []
            elif each["type"] != "text":
                files.append(each["mimeType"])
        self.cancelled = False
        before = [text for _, text in self.history]
        self.history.append(["user", "\n".join(texts)])
        self.save()
        self.log("prompt", texts=[*before, *texts], files=files, blocks=params["prompt"])
        turns = self.script.get("turns", [])
        taken = self.folder / "taken"
        turn = int(taken.read_text()) if taken.exists() else 0
        taken.write_text(str(turn + 1))
        steps = turns[turn] if turn < len(turns) else [{"say": f"echo: {texts[-1]}"}]
        self.result = {"stopReason": "end_turn"}
        try:
            for step in steps:
                if "fail" in step:
                    self.send({"id": number, "error": step["fail"]})
                    return
                self.do(step)
        except Cancelled:
            self.result = {"stopReason": "cancelled"}
        self.send({"id": number, "result": self.result})

    def do(self, step: dict[str, Any]) -> None:
        [(name, value)] = step.items()
        match name:
            case "say":
                self.say(value)
            case "words":
                for word in value:
                    self.say(word)
            case "update":
                self.update(value)
            case "elsewhere":
                self.update(value, session="another")
            case "ask":
                self.request("session/request_permission", value)
            case "ask_twice":
                self.request("session/request_permission", value, times=2)
            case "ask_all":
                self.request_all([("session/request_permission", each) for each in value])
            case "fs/read_text_file" | "fs/write_text_file":
                self.request(name, value)
            case _ if name.startswith("terminal/"):
                self.request(name, value)
            case "raw":
                sys.stdout.write(value + "\n")
                sys.stdout.flush()
            case "huge":
                for _ in range(value):
                    sys.stdout.write("x" * 1_000_000)
                sys.stdout.flush()
            case "stop":
                self.result = value
            case "errors":
                sys.stderr.write(value)
                sys.stderr.flush()
            case "exit":
                sys.stdout.flush()
                os._exit(value)
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "child":  # one that outlives us unless its group is killed
                child = subprocess.Popen(
                    [sys.executable, "-c", "import time; time.sleep(1000)"],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
                self.log("child", pid=child.pid)
            case "stubborn":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            case "hang":
                while True:
                    time.sleep(1000)
            case "look":  # at files
                self.log("seen", **{each: try_file(each) for each in value})
            case "mcp":  # requests to the first tool server
                self.ask_tools(value)
            case "wait":  # until it is cancelled
                self.log("waiting")
                while not self.cancelled:
                    self.handle(self.receive())
                raise Cancelled
            case _:
                raise ValueError(name)

    def ask_tools(self, requests: list[Any]) -> None:
        server = self.servers[0]
        pipe = subprocess.PIPE
        command = [server["command"], *server["args"]]
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child:
            assert child.stdin
            assert child.stdout
            first = {"method": "initialize", "params": {"protocolVersion": "2025-03-26"}}
            for number, each in enumerate([first, *requests]):
                line = each if isinstance(each, str) else json.dumps({"id": number, **each})
                child.stdin.write(line + "\n")
                child.stdin.flush()
                self.log("called")
                if not isinstance(each, str):
                    answer = json.loads(child.stdout.readline())
                    self.log("tools", **{k: answer.get(k) for k in ("result", "error")})
            child.stdin.close()

    def request(self, method: str, params: dict[str, Any], times: int = 1) -> None:
        self.request_all([(method, params)] * times)

    def request_all(self, requests: list[Any]) -> None:
        waiting, lines = set(), ""
        for method, params in requests:
            self.number += 1
            waiting.add(self.number)
            given = {"sessionId": self.session, **params}
            message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": given}
            lines += json.dumps(message) + "\n"
        sys.stdout.write(lines)  # at once, so that they arrive together
        sys.stdout.flush()
        while waiting:
            message = self.receive()
            waiting.discard(message.get("id") if "method" not in message else None)
            self.handle(message)
        if self.cancelled:
            raise Cancelled


def try_file(path: str) -> str:
    try:
        if not Path(path).read_text():
            return "nothing"
    except OSError:
        return "nothing"
    try:
        Path(path).open("a").close()
    except OSError:
        return "reads"
    return "writes"


if __name__ == "__main__":
    Agent(sys.argv[1], Path(sys.argv[2])).main()
