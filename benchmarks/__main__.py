"""`python -m benchmarks [NAME [FLAG …]]`: run one benchmark, or all, and print their tables."""

import sys

from benchmarks import (
    acp,
    cold_start,
    exports,
    file_search,
    holding,
    proofs,
    screen,
    service_backup,
    start,
    stores,
    tool_definitions,
    tool_servers,
    web,
)
from benchmarks.coding import command as coding
from benchmarks.engine import command as engine
from benchmarks.room import command as room
from benchmarks.room import flood, host_screen
from benchmarks.serve import command as serve
from benchmarks.sessions import command as sessions

ALL = {
    "start": start.main,
    "engine": engine.main,
    "acp": acp.main,
    "tools": tool_definitions.main,
    "file_search": file_search.main,
    "coding": coding.main,
    "room": room.main,
    "flood": flood.main,
    "serve": serve.main,
    "cold_start": cold_start.main,
    "proofs": proofs.main,
    "exports": exports.main,
    "host_screen": host_screen.main,
    "screen": screen.main,
    "sessions": sessions.main,
    "holding": holding.main,
    "service_backup": service_backup.main,
    "stores": stores.main,
    "tool_servers": tool_servers.main,
    "web": web.main,
}


def main() -> int:
    name, *flags = sys.argv[1:] or [""]
    if name in {"-h", "--help"}:
        print(f"{__doc__}\n\nThere are: {', '.join(ALL)}. Each explains its flags with --help.")
        return 0
    if name and name not in ALL:
        sys.stderr.write(f"no benchmark {name}; there are: {', '.join(ALL)}\n")
        return 2
    status = 0
    for each in [name] if name else ALL:
        print(f"## {each}   (python -m benchmarks {each})", flush=True)
        status = max(status, ALL[each](flags))
    return status


sys.exit(main())
