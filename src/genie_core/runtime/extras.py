"""Name the extra of genie-core that brings a missing package."""

from collections.abc import Iterator
from contextlib import contextmanager

from genie_core.errors import MissingExtra


@contextmanager
def imports_of(extra: str) -> Iterator[None]:
    """Raise `MissingExtra` if an import inside finds a package missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, MissingExtra) or error.name is None:
            raise
        raise MissingExtra(extra, error.name) from error
