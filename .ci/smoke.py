"""Start an installed `genie-tui` in a terminal, outside the checkout, and ask @genie something."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.contract.terminal import Terminal
from tests.ports import free_port


def main() -> int:
    """Ask, read the answer, and leave; returns 0 if all of that is as it should be."""
    program = str(Path(sys.argv[1]).absolute())
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["host", "--local", "--title", "Smoke", "--name", "ann"]
        with Terminal(
            *arguments,
            "--port",
            str(free_port()),
            home=Path(folder),
            command=[program],
            cwd=Path(folder),
        ) as terminal:
            terminal.wait_for("online", "idle")
            terminal.say("@genie what is 12*7?")
            terminal.wait_for("12*7 = 84")
            code = terminal.leave()
            told = terminal.left_behind
        log = next(Path(folder).rglob("*.log")).read_text()
    assert code == 0, f"it ended with {code}: {told}"
    assert any("resume" in line for line in told), told
    assert "Traceback" not in log, log
    sys.stdout.write(f"{program} answered 84, and ended with 0\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
