"""An editor for tests, in the terminal's own line mode: it obeys the lines that are typed.

`write TEXT` replaces the file, `drop` removes it, `rescue` leaves a file beside it, `raw` leaves the
terminal in a mode that no shell could use, `exit CODE` ends it. It says which signals it gets.
"""

import os
import signal
import sys
import tty
from pathlib import Path
from types import FrameType


def heard(number: int, _: FrameType | None) -> None:
    os.write(1, f"heard {signal.Signals(number).name}\r\n".encode())


def main() -> None:
    path = Path(sys.argv[-1])
    for number in (signal.SIGINT, signal.SIGCONT):
        signal.signal(number, heard)
    mode = path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777
    sys.stdout.write(f"editor {mode[0]:o} {mode[1]:o} has {path.read_text()!r}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        match word:
            case "write":
                path.write_text(rest.replace("\\n", "\n") + "\n")
                sys.stdout.write("written\n")
            case "drop":
                path.unlink()
            case "rescue":
                (path.parent / "draft.md.save").write_text("rescued")
                sys.stdout.write("kept beside\n")
            case "raw":
                tty.setraw(0)
                sys.stdout.write("\x1b[?1049h\x1b[?1000h\x1b[3;5rset raw\r\n")
            case "exit":
                sys.exit(int(rest))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
