"""Print what constraints.txt has to pin: the project's dependencies and its dev group."""

import sys
import tomllib
from pathlib import Path

with Path("pyproject.toml").open("rb") as file:
    project = tomllib.load(file)

lines = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
sys.stdout.write("\n".join(lines) + "\n")
