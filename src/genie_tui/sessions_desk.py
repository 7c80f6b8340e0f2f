"""What the parts of `genie-tui sessions` work with."""

from typing import Final, TextIO

from genie_core.errors import GenieError
from genie_core.sessions.catalog import Catalog
from genie_tui.locations import Locations
from genie_tui.output import safe_line
from genie_tui.settings import Settings


class NotConfirmed(GenieError):
    """Something that has to be confirmed was not."""


class Sessions:
    """What the parts of the command work with: where sessions are, and who asks."""

    def __init__(
        self,
        settings: Settings,
        locations: Locations,
        given: TextIO,
        out: TextIO,
        problems: TextIO,
    ) -> None:
        self.locations: Final = locations
        self.catalog: Final = Catalog(locations.sessions)
        self.limits: Final = settings.retention.limits()
        self.given: Final = given
        self.out: Final = out
        self._problems: Final = problems

    def tell(self, text: str) -> None:
        """Write a line."""
        self.out.write(f"{safe_line(text)}\n")

    def tell_more(self, text: str) -> None:
        """Write a line that belongs to the one before."""
        self.out.write(f"  {safe_line(text)}\n")

    def warn(self, text: str) -> None:
        """Write a line where it is in nobody's way who reads the output by a program."""
        self._problems.write(f"genie-tui: {safe_line(text)}\n")

    def confirm(self, question: str, *, surely: bool) -> None:
        """Ask the person, unless they said yes before.

        Raises:
            NotConfirmed: they say no, or nobody can be asked.

        """
        if surely:
            return
        if not self.given.isatty():
            raise NotConfirmed("nobody can be asked here; to do it all the same, add --yes")
        self.out.write(f"{question} [y/N] ")
        self.out.flush()
        if self.given.readline().strip().casefold() not in ("y", "yes"):
            raise NotConfirmed("nothing has changed")
