"""Print the requirements to pin: the project's with its dev group, or those of a named group."""

import sys
import tomllib
from pathlib import Path

with Path("pyproject.toml").open("rb") as file:
    project = tomllib.load(file)

groups = project["dependency-groups"]
lines = [*project["project"]["dependencies"], *groups["dev"]]
if sys.argv[1:]:
    lines = [line for name in sys.argv[1:] for line in groups[name]]
sys.stdout.write("\n".join(lines) + "\n")
