"""What was sent before, to be called back into the composer."""

from typing import Final

KEPT: Final = 200
"""How many messages are kept at most."""


class History:
    """A walk through what was sent, from the draft at its end back to the oldest.

    What is changed on the way stays changed until the next message is sent, so neither the draft
    nor an edit of an older message is lost by looking around.
    """

    def __init__(self) -> None:
        self._sent: list[str] = []
        self._edited: dict[int, str] = {}
        self._at = 0

    def add(self, text: str) -> None:
        """Take in what was sent, unless it is the same as before, and end the walk."""
        if not self._sent or self._sent[-1] != text:
            self._sent.append(text)
            del self._sent[:-KEPT]
        self._edited.clear()
        self._at = len(self._sent)

    def keep(self, text: str) -> None:
        """Take in a text as the latest, and leave the walk where it is."""
        if self._sent and self._sent[-1] == text:
            return
        end = len(self._sent)
        self._sent.append(text)
        self._edited = {at + (at == end): edit for at, edit in self._edited.items()}
        self._at += self._at == end
        if len(self._sent) > KEPT:
            del self._sent[0]
            self._edited = {at - 1: edit for at, edit in self._edited.items() if at}
            self._at = max(0, self._at - 1)

    def older(self, current: str) -> str | None:
        """The message before, given what is in the composer now; None at the oldest."""
        return self._step(current, -1)

    def newer(self, current: str) -> str | None:
        """The message after, in the end the draft; None if that is what is there."""
        return self._step(current, 1)

    def _step(self, current: str, step: int) -> str | None:
        to = self._at + step
        if not 0 <= to <= len(self._sent):
            return None
        self._edited[self._at] = current
        self._at = to
        kept = self._sent[to] if to < len(self._sent) else ""
        return self._edited.get(to, kept)
