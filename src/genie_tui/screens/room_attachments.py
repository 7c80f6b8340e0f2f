"""Attach files and quotes to the next message, and ask before sending them to agents."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.content import Content
from textual.screen import Screen

from genie_core.errors import GenieError
from genie_core.privacy.redaction import secrets_in
from genie_core.room.commands.arguments import MessageLine, QuoteRequest
from genie_core.room.commands.messages import say
from genie_core.room.files.transfer import Transfer
from genie_core.room.open.service import RoomService
from genie_core.room.protocol.events import FileRef, Quote
from genie_core.text.safe import visible_line
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.transfers import FileTransfers
from genie_tui.widgets.composer.attachments import (
    MOST_CHARS,
    AttachmentLine,
    Attachments,
    agents_here,
    files_named,
    may_name_files,
    quote_question,
    sending_question,
)
from genie_tui.widgets.composer.composer import Composer

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

LOOK: Final = 0.5
"""Seconds for the disk to decide whether a paste names files."""


class AttachmentController:
    """Changes the attachments of the next message, and sends it with them.

    `joined` returns None until the room is open. `asked_about` is the draft of the open question,
    empty without one.
    """

    def __init__(
        self,
        screen: Screen[None],
        composer: Composer,
        service: RoomService,
        joined: "Callable[[], JoinedRoom | None]",
        transfers: FileTransfers,
        clock: Callable[[], float],
    ) -> None:
        self._screen = screen
        self._composer = composer
        self._service = service
        self._joined = joined
        self._clock = clock
        self._pasted: tuple[str, tuple[Path, ...]] | None = None
        self.asked_about = ""
        self.attached = Attachments()
        self.line = AttachmentLine(self.attached, transfers)
        composer.claim_paste = self._claim_paste
        composer.claim_key = self._claim_key
        composer.may_be_empty = lambda: bool(self.attached)

    def attach(self, joined: "JoinedRoom", text: str) -> None:
        """Attach the files that a text names, in the background."""
        self._work(self._attach_named(joined, text))

    def detach(self, name: str) -> None:
        """Detach a file by name; all without a name."""
        if not self.attached.remove(name):
            what = "like that " if name else ""
            self._complain(f"Nothing {what}goes with your next message.")
        self.line.show()

    def quote(self, joined: "JoinedRoom", request: QuoteRequest) -> None:
        """Quote another saved room in the background, after a confirmation."""
        self._work(self._quote(joined, request))

    def secrets_in(self, text: str) -> tuple[str, ...]:
        """Return the names of secrets that a message with this text and the quotes would reveal."""
        quoted = (line.text for quote in self.attached.quotes for line in quote.lines)
        return secrets_in("\n".join((text, *quoted)))

    def say(self, joined: "JoinedRoom", line: MessageLine, reply_to: int = 0) -> None:
        """Send a message with its attachments, after a question if agents get them.

        A draft that is not sent returns to the composer. Raises a `GenieError` if the message is
        refused immediately.
        """
        if not self.attached:
            if line.text.strip():
                say(joined, line, reply_to=reply_to)
        elif line.to:
            self._give_back(line)
            self._complain("Attachments can't be sent privately. Your draft is kept: /detach")
        elif self.attached.reading:
            self._give_back(line)
            self._complain("A file is still being read. Your draft is kept.")
        elif agents_here(joined.state):
            self._work(self._ask_and_say(joined, line, reply_to))
        else:
            self._send(joined, line, reply_to)

    def transfer_moved(self, transfer: Transfer) -> None:
        """Show the progress of a file."""
        if any(file.digest == transfer.digest for file in self.attached.files):
            self.line.show()

    def take_back(
        self, joined: "JoinedRoom", files: Sequence[FileRef], quotes: Sequence[Quote]
    ) -> list[str]:
        """Attach these again; return the names of missing files."""
        there = [file for file in files if joined.files.bring(file)]
        for file in there:
            self.attached.add(file)
        self.attached.quotes += [quote for quote in quotes if quote not in self.attached.quotes]
        self.line.show()
        return [visible_line(file.name) for file in files if file not in there]

    # Files

    async def _attach_named(self, joined: "JoinedRoom", text: str) -> None:
        paths = await asyncio.to_thread(files_named, text)
        if not paths:
            self._complain(f"There is no file {visible_line(text)}.")
        await self._attach(joined, paths)

    async def _attach(self, joined: "JoinedRoom", paths: tuple[Path, ...]) -> None:
        self.attached.reading += paths
        self.line.show()
        for path in paths:
            try:
                file = await joined.files.attach(path)
            except GenieError as error:
                self._complain(str(error))
            else:
                if path in self.attached.reading and not self.attached.add(file):
                    self._complain(f"{visible_line(path.name)} is already attached.")
            finally:
                if path in self.attached.reading:
                    self.attached.reading.remove(path)
                self.line.show()

    # Pasted files

    async def _claim_paste(self, text: str) -> bool:
        """Offer to attach the files that a paste names; False if it names none."""
        in_command = self._composer.draft.startswith("/")
        if self._joined() is None or in_command or not may_name_files(text):
            return False
        try:
            async with asyncio.timeout(LOOK):
                files = await asyncio.to_thread(_sized, text)
        except TimeoutError:
            return False
        if files:
            self._insert_pasted()
            self._pasted = text, tuple(path for path, _ in files)
            self.line.offer(files)
        return bool(files)

    def _claim_key(self, key: str) -> bool:
        """Answer the offer: enter attaches, esc inserts the text."""
        joined = self._joined()
        if self._pasted is None or key not in ("enter", "escape") or joined is None:
            return False
        if key == "escape":
            self._insert_pasted()
        else:
            (_, paths), self._pasted = self._pasted, None
            self.line.offer(())
            self._work(self._attach(joined, paths))
        return True

    def _insert_pasted(self) -> None:
        pasted, self._pasted = self._pasted, None
        if pasted is not None:
            self._composer.insert(pasted[0])
            self.line.offer(())

    # Quotes

    async def _quote(self, joined: "JoinedRoom", request: QuoteRequest) -> None:
        try:
            quote = await asyncio.to_thread(self._service.quote, request.room, request.last)
        except GenieError as error:
            self._complain(str(error))
            return
        if not quote.lines:
            self._complain("That room has no messages.")
            return
        text = quote_question(quote, joined.state, joined.name)
        if not await self._confirm("Attach this quote to your next message?", text, "attach"):
            return
        self.attached.quotes.append(quote)
        if self.attached.quoted > MOST_CHARS:
            self.attached.quotes.remove(quote)
            self._complain(f"At most {MOST_CHARS:,} characters can be quoted at once.")
        self.line.show()

    # Sending

    async def _ask_and_say(self, joined: "JoinedRoom", line: MessageLine, reply_to: int) -> None:
        attached = self.attached
        text = sending_question(
            line.text, attached.files, attached.quotes, joined.state, joined.name
        )
        agreed = False
        self.asked_about = line.draft
        try:
            agreed = await self._confirm("Send with attachments?", text, "send")
        finally:
            self.asked_about = ""
            if not agreed and self._screen.is_running:
                self._give_back(line)
        if agreed:
            try:
                self._send(joined, line, reply_to)
            except GenieError as error:
                self._give_back(line)
                self._complain(str(error))

    def _send(self, joined: "JoinedRoom", line: MessageLine, reply_to: int) -> None:
        files, quotes = tuple(self.attached.files), tuple(self.attached.quotes)
        say(joined, line, files=files, quotes=quotes, reply_to=reply_to)
        self.attached.take()
        self.line.show()

    async def _confirm(self, title: str, text: Content, yes: str) -> bool:
        screen = ConfirmScreen(title, text, yes, self._clock)
        return await self._screen.app.push_screen_wait(screen)

    def _give_back(self, line: MessageLine) -> None:
        if self._composer.draft:  # as a message that the room did not take meanwhile
            self._composer.remember(self._composer.draft)
        self._composer.draft = line.draft

    def _work(self, work: Coroutine[None, None, None]) -> None:
        self._screen.run_worker(work, group="attachments")

    def _complain(self, text: str) -> None:
        self._screen.notify(text, severity="warning")


def _sized(text: str) -> list[tuple[Path, int]]:
    """Return the files that a text names, with their sizes. Blocks."""
    try:
        return [(path, path.stat().st_size) for path in files_named(text)]
    except OSError:
        return []
