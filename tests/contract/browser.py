"""A headless Chromium, driven through its DevTools protocol, for tests that use the page."""

import json
import os
import shutil
import subprocess
import time
from base64 import b64decode
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.limits import scaled
from websockets.sync.client import connect

DEADLINE: Final = scaled(60.0)
"""Seconds within which anything waited for has to show. Generous: it only ends a broken test."""

PROGRAM: Final = shutil.which("chromium") or shutil.which("chromium-browser")

KEYS: Final = {"Enter": 13, "Tab": 9, "Escape": 27}


class Browser:
    """A Chromium with its profile below `home`; each `visitor` has cookies of their own."""

    def __init__(self, home: Path) -> None:
        assert PROGRAM is not None
        home.mkdir(parents=True, exist_ok=True)
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        self._process = subprocess.Popen(
            [
                PROGRAM,
                "--headless=new",
                *root,
                "--remote-debugging-port=0",
                f"--user-data-dir={home}",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": os.environ.get("PATH", ""), "HOME": str(home), "LANG": "C.UTF-8"},
        )
        port, path = self._address(home / "DevToolsActivePort")
        self._socket = connect(
            f"ws://127.0.0.1:{port}{path}", max_size=None, compression=None, proxy=None
        )
        self._numbers = count(1)
        self._tabs: dict[str, Tab] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _address(self, file: Path) -> tuple[int, str]:
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            lines = file.read_text().splitlines() if file.exists() else []
            if len(lines) == 2:
                return int(lines[0]), lines[1]
            assert self._process.poll() is None, "chromium ended at once"
            time.sleep(0.05)
        raise AssertionError("chromium never opened its port")

    def visitor(self) -> str:
        """Return a new context: cookies that no other one shares."""
        return str(self.call("Target.createBrowserContext")["browserContextId"])

    def open(
        self,
        address: str,
        visitor: str,
        *,
        width: int = 1100,
        height: int = 760,
        scheme: str = "light",
    ) -> "Tab":
        """Open a page in a tab of a visitor's."""
        target = self.call(
            "Target.createTarget", {"url": "about:blank", "browserContextId": visitor}
        )["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        tab = self._tabs[session["sessionId"]] = Tab(self, session["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            tab.call(f"{domain}.enable")
        tab.resize(width, height)
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        tab.call("Emulation.setEmulatedMedia", {"features": media})
        tab.go(address)
        return tab

    def call(
        self, method: str, params: Mapping[str, Any] | None = None, session: str = ""
    ) -> dict[str, Any]:
        """Call a method of the protocol; returns its result."""
        number = next(self._numbers)
        frame: dict[str, Any] = {"id": number, "method": method, "params": params or {}}
        if session:
            frame["sessionId"] = session
        self._socket.send(json.dumps(frame))
        while True:
            answer = json.loads(self._socket.recv(DEADLINE))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return dict(answer["result"])
            self._note(answer)

    def _note(self, event: dict[str, Any]) -> None:
        tab = self._tabs.get(event.get("sessionId", ""))
        if tab is None:
            return
        if event["method"] == "Runtime.exceptionThrown":
            tab.problems.append(str(event["params"]["exceptionDetails"]))
        elif event["method"] == "Log.entryAdded":
            tab.problems.append(str(event["params"]["entry"]["text"]))
        elif event["method"] == "Page.javascriptDialogOpening":
            tab.problems.append("a dialog opened")


class Tab:
    """One page. `problems` has what went wrong in it: errors, violations of its policy, dialogs."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session
        self.problems: list[str] = []

    def call(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._browser.call(method, params, self._session)

    def go(self, address: str) -> None:
        self.call("Page.navigate", {"url": address})

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.call("Emulation.setDeviceMetricsOverride", size)

    def value(self, script: str) -> Any:
        """Evaluate an expression in the page."""
        params = {"expression": script, "returnByValue": True, "awaitPromise": True}
        answer = self.call("Runtime.evaluate", params)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    @property
    def text(self) -> str:
        """What is shown, as text."""
        return str(self.value("document.body ? document.body.innerText : ''"))

    def wait_for(self, *needles: str, gone: str = "") -> str:
        """Wait until all of these texts, and not `gone`, are shown."""
        end = time.monotonic() + DEADLINE
        while True:
            text = self.text
            if all(each in text for each in needles) and not (gone and gone in text):
                return text
            assert time.monotonic() < end, f"never saw {needles} without {gone!r}:\n{text}"
            time.sleep(0.05)

    def wait_until(self, script: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + DEADLINE
        while not self.value(script):
            assert time.monotonic() < end, f"never true: {script}\n{self.text}"
            time.sleep(0.05)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", {"text": text})

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press a key."""
        code = KEYS[key]
        params = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 8 * shift}
        typed = {"text": "\r"} if key == "Enter" else {}
        kind = "keyDown" if typed else "rawKeyDown"
        self.call("Input.dispatchKeyEvent", {"type": kind, **typed, **params})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **params})

    def click(self, selector: str) -> None:
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def join(self, name: str) -> None:
        """Come in under a name."""
        self.wait_until("document.activeElement && document.activeElement.id === 'name'")
        self.type(name)
        self.press("Enter")

    def say(self, text: str) -> None:
        """Write a message and send it."""
        self.wait_until("!document.getElementById('composer').hidden")
        self.value("document.getElementById('text').focus()")
        self.type(text)
        self.press("Enter")

    def shoot(self, file: Path) -> None:
        """Write a picture of the page."""
        file.write_bytes(b64decode(self.call("Page.captureScreenshot", {"format": "png"})["data"]))
