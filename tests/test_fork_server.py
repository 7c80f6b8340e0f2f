import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.limits import scaled

REAL = (sys.executable, "-s")
"""An interpreter with an option starts for real."""

FORKED = (sys.executable,)

FACTS = """
import json, os, sys, threading
facts = {
    "argv": sys.argv,
    "descriptors": sorted(map(int, os.listdir("/proc/self/fd")))[:-1],
    "encodings": [sys.stdin.encoding, sys.stdout.encoding, sys.stderr.errors],
    "environment": dict(os.environ),
    "folder": os.getcwd(),
    "leads": os.getsid(0) == os.getpid(),
    "lines": [sys.stdout.line_buffering, sys.stderr.line_buffering],
    "main": __name__,
    "network": os.stat("/proc/self/ns/net").st_ino,
    "parent": os.getppid(),
    "path": sys.path,
    "read": sys.stdin.read(),
    "streams": [sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__],
    "threads": threading.active_count(),
    "writes_bytecode": not sys.dont_write_bytecode,
}
print(json.dumps(facts))
"""

ENDINGS = {
    "nothing": "",
    "exit code": "raise SystemExit(3)",
    "exit text": "raise SystemExit('the reason')",
    "error": "raise ValueError('the reason')",
    "interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "kill": "import os; os.kill(os.getpid(), 9)",
    "at exit": "import atexit; atexit.register(print, 'bye')",
    "thread": "import threading, time; threading.Timer(0.05, print, ['late']).start()",
    "pipe": "import os, signal; print(signal.getsignal(signal.SIGPIPE))",
}


def children() -> set[str]:
    return {
        child
        for thread in Path("/proc/self/task").iterdir()
        for child in (thread / "children").read_text().split()
    }


def run(python: Sequence[str], *arguments: str, **options: object) -> tuple[int, str, str]:
    done = subprocess.run(  # type: ignore[call-overload]  # options of any kind
        [*python, *arguments],
        **{"capture_output": True, "text": True, "timeout": scaled(60), **options},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("leads", [False, True])
@pytest.mark.parametrize("form", ["-c", "file"])
def test_fork_is_like_real_start(form: str, leads: bool, tmp_path: Path) -> None:
    (tmp_path / "facts.py").write_text(FACTS)
    program = ("-c", FACTS) if form == "-c" else ("facts.py",)
    environment = {"A": "ä", "PATH": "/bin", "PYTHONPATH": "/p:/q", "LANG": "C.UTF-8"}
    facts = [
        json.loads(
            run(
                python,
                *(*program, "one", "--two"),
                cwd=tmp_path,
                env=environment,
                input="for stdin",
                start_new_session=leads,
            )[1]
        )
        for python in (REAL, FORKED)
    ]
    assert facts[1] == facts[0]
    assert facts[1]["parent"] == os.getpid()


@pytest.mark.parametrize("ending", ENDINGS)
def test_ending_is_that_of_real_start(ending: str) -> None:
    code, out, errors = run(FORKED, "-c", ENDINGS[ending])
    assert (code, out) == run(REAL, "-c", ENDINGS[ending])[:2]
    assert errors.splitlines()[-1:] == run(REAL, "-c", ENDINGS[ending])[2].splitlines()[-1:]


def test_module_is_main(tmp_path: Path) -> None:
    arguments = ("-m", "genie_tui", "--version")
    assert run(FORKED, *arguments, cwd=tmp_path) == run(REAL, *arguments, cwd=tmp_path)


def test_other_descriptors_keep_their_numbers() -> None:
    reading, writing = os.pipe()
    code = f"import os; os.write({writing}, b'passed')"
    assert run(FORKED, "-c", code, pass_fds=[writing])[0] == 0
    assert os.read(reading, 100) == b"passed"
    os.close(reading)
    os.close(writing)


async def test_loop_waits_for_fork() -> None:
    program = await asyncio.create_subprocess_exec(
        *(*FORKED, "-c", "import time; print('here', flush=True); time.sleep(100)"),
        stdout=asyncio.subprocess.PIPE,
    )
    assert program.stdout is not None
    assert await program.stdout.readline() == b"here\n"
    program.terminate()
    assert await program.wait() == -signal.SIGTERM


def test_orphan_of_program_is_not_adopted() -> None:
    run(FORKED, "-c", "")  # the server itself is a child from now on
    code = "import os, time\nif os.fork() == 0:\n    os.fork()\n    time.sleep(0.2)"
    before = children()
    assert run(FORKED, "-c", code)[0] == 0
    assert children() <= before


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run(FORKED, "-c", "", cwd=tmp_path / "missing")


def test_code_that_sees_modules_starts_for_real() -> None:
    code = "import sys; print('textual' in sys.modules)"
    assert run(FORKED, "-c", code)[1] == "False\n"
