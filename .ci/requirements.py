"""Print what constraints.txt has to pin: dependencies of the project and plugins, and its dev group."""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text())
lines = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
for path in sorted(Path("plugins").glob("*/pyproject.toml")):
    plugin = tomllib.loads(path.read_text())["project"]["dependencies"]
    lines += [line for line in plugin if not line.startswith("genie-")]
sys.stdout.write("\n".join(lines) + "\n")
