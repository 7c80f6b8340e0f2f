"""Name the extra of genie-core that brings a missing package."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from genie_core.errors import MissingExtra


@contextmanager
def imports_of(extra: str) -> Iterator[None]:
    """Raise `MissingExtra` if an import inside finds a package missing."""
    try:
        yield
    except MissingExtra:
        raise
    except ModuleNotFoundError as error:
        raise MissingExtra(extra, error.name or str(error)) from error


def require(extra: str, module: str) -> None:
    """Import a module that stands for all of an extra, or raise `MissingExtra`."""
    with imports_of(extra):
        import_module(module)
