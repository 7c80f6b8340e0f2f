"""`python -m benchmarks [NAME …]`: run the named benchmarks, or all, and print their tables."""

import sys

from benchmarks import start

ALL = {"start": start.main}


def main() -> int:
    names = sys.argv[1:] or list(ALL)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.stderr.write(f"no benchmark {', '.join(unknown)}; there are: {', '.join(ALL)}\n")
        return 2
    for name in names:
        print(f"## {name}   (python -m benchmarks {name})")
        ALL[name]()
    return 0


sys.exit(main())
