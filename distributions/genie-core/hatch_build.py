"""Build from the tree that this folder is in, or from the files of it that an sdist has."""

import re
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

VERSION = re.compile(r'^__version__ = "(.+)"$', re.MULTILINE)


def tree_of(root: Path) -> Path:
    """Return the folder with `src`."""
    return root if (root / "PKG-INFO").exists() else root.parents[1]


class Version(MetadataHookInterface):
    """Take the version from genie_core, also for the dependencies that name it."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set what is dynamic; in an sdist, PKG-INFO has done that."""
        if "version" in metadata:
            return
        found = VERSION.search(
            (tree_of(Path(self.root)) / "src/genie_core/__init__.py").read_text()
        )
        assert found is not None
        metadata["version"] = found[1]
        if lines := self.config.get("dependencies"):
            metadata["dependencies"] = [line.replace("{version}", found[1]) for line in lines]


class Sources(BuildHookInterface[BuilderConfig]):
    """Put the sources where they belong in a wheel, and beside this file in an sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name the files; an editable install has them by its `dev-mode-dirs`."""
        if version == "editable":
            return
        tree = tree_of(Path(self.root))
        for source, place in self.config["sources"].items():
            target = source if self.target_name == "sdist" else place
            build_data["force_include"][str(tree / source)] = target
