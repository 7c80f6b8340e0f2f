"""Connects standard input and output with the socket at a path. Run as a script.

An agent program starts it as a tool server; see `tool_server`. It needs only the standard library.
"""

import os
import socket
import sys
import threading


def _copy_input(line: socket.socket) -> None:
    while data := os.read(0, 65_536):
        line.sendall(data)
    line.shutdown(socket.SHUT_WR)


def main() -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sys.argv[1])
        threading.Thread(target=_copy_input, args=[line], daemon=True).start()
        while data := line.recv(65_536):
            while data:
                data = data[os.write(1, data) :]


if __name__ == "__main__":
    main()
