"""Find the additions of installed plugins, by entry points in their metadata.

A plugin adds to a group under a name, with a reference to the object:

- `genie.commands`: a command of `genie-tui`, as `genie_tui.plugins` describes.
- `genie.importers`: a reader of another program's conversations; the plugin genie-import uses it.
- `genie.stores`: a kind of store of a service; the plugin genie-serve uses it.
- `genie.exporters`: a form of export, a `genie_core.sessions.export.writer.Exporter`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from genie_core.errors import GenieError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class NoExtension(GenieError):
    """No installed plugin adds something under this name."""

    template = "{name!r} comes with a plugin that is not installed"
    group: str
    name: str


class BrokenExtension(GenieError):
    """A plugin's object can't be imported."""

    template = "{name!r} of the plugin {plugin} can't be loaded: {why}"
    name: str
    plugin: str
    why: Exception


def extensions(group: str) -> "Mapping[str, EntryPoint]":
    """Return the entry points of a group by name. Blocks: it reads the metadata of packages."""
    from importlib.metadata import entry_points  # not needed for most starts

    return {each.name: each for each in entry_points(group=group)}


def load_extension(group: str, name: str) -> Any:
    """Import the object that a plugin adds under a name.

    Raises:
        NoExtension: no installed plugin has the name.
        BrokenExtension: the object can't be imported.
    """
    found = extensions(group).get(name)
    if found is None:
        raise NoExtension(group, name)
    try:
        return found.load()
    except (ImportError, AttributeError) as error:
        raise BrokenExtension(name, found.dist.name if found.dist else "", error) from error
