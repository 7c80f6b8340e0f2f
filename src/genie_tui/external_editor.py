"""Write a text in the person's own editor, which gets the terminal meanwhile."""

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from asyncio import Event
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from genie_core.errors import GenieError
from genie_core.runtime.tasks import start_task
from genie_core.runtime.threads import off_loop
from genie_core.storage.atomic import create_file, read_file, reason, write_whole
from genie_core.text.safe import visible
from genie_tui.foreground import ForegroundJob

if TYPE_CHECKING:
    from genie_tui.terminal import HangupDriver

FALLBACKS: Final = ("nano", "vi")
"""Editors to look for if neither VISUAL nor EDITOR names one."""

MOST_BYTES: Final = 400_000
"""Size of a file that is read back."""

PATIENCE: Final = 2.0
"""Seconds for an editor to end after SIGHUP."""

NO_EDITOR: Final = "there is no editor; set EDITOR to the one that you like"
AS_BEFORE: Final = "Your draft is as it was."


class EditorFailed(GenieError):
    """No editor could be opened."""


@dataclass(frozen=True, slots=True)
class Edited:
    """The result of an editor.

    `text` is the new text, None if there is none. `problem` says why there is none, `saved` is the
    text that an editor had written before it failed.
    """

    text: str | None = None
    problem: str = ""
    saved: str = ""


def editor_command(env: Mapping[str, str]) -> list[str]:
    """Return the words of the person's editor; raises `EditorFailed` if there is none."""
    for name in ("VISUAL", "EDITOR"):
        value = env.get(name, "")
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise EditorFailed(f"{name} can't be used: {error}") from error
        if words:
            return words
    found = (shutil.which(name, path=env.get("PATH")) for name in FALLBACKS)
    if (editor := next(filter(None, found), None)) is None:
        raise EditorFailed(NO_EDITOR)
    return [editor]


class DraftFile:
    """A private file with a text, in a private folder for it and an editor's other files.

    Blocks, so call it off the event loop. Raises `OSError` if the file can't be made.
    """

    def __init__(self, text: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="genie-tui-"))
        self._written = f"{text}\n" if text else ""
        self.path = self._folder / "draft.md"
        try:
            descriptor = create_file(self.path)
            try:
                write_whole(descriptor, self._written.encode("utf-8", "surrogatepass"))
            finally:
                os.close(descriptor)
        except OSError:
            self.remove()
            raise

    def edited(self, code: int, *, ended: bool) -> Edited:
        """Return the text of an editor that ended with `code`, and remove the folder.

        Its saved text counts also if this program `ended` it. After a failure, the folder is kept
        if there is more in it, as editors rescue unsaved text there.
        """
        try:
            text = self._read()
        except _NotRead as problem:
            self._remove_unless(kept=problem.kept)
            return Edited(problem=str(problem))
        rescued = code != 0 and any(each != self.path for each in self._folder.iterdir())
        self._remove_unless(kept=rescued)
        if code == 0 or ended:
            return Edited(text if text or code == 0 else None)
        more = f" What the editor had not saved may be in {self._folder}." if rescued else ""
        return Edited(None, f"The editor {_ending(code)}. {AS_BEFORE}{more}", text or "")

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self) -> str | None:
        """Return the text in the file, None if it has not changed."""
        try:
            if self.path.stat().st_size > MOST_BYTES:
                why = f"it has more than {MOST_BYTES:,} bytes. It is in {self.path}."
                raise _NotRead(why, kept=True)
            content = read_file(self.path)
        except FileNotFoundError as error:
            raise _NotRead("the editor removed the file.") from error
        except OSError as error:
            raise _NotRead(f"{self.path} can't be read: {reason(error)}.", kept=True) from error
        text = content.decode("utf-8-sig", "replace")
        if text == self._written:
            return None
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return visible(text.rstrip("\n"), tab=0)

    def _remove_unless(self, *, kept: bool) -> None:
        if not kept:
            self.remove()


class _NotRead(Exception):
    """The file can't be read back; it stays if it is `kept`."""

    def __init__(self, why: str, *, kept: bool = False) -> None:
        super().__init__(f"Your text was not taken over: {why} {AS_BEFORE}")
        self.kept = kept


class ExternalEditor:
    """Opens the person's editor. `lent` gives the terminal up for a block, and yields its driver."""

    def __init__(self, lent: "Callable[[], AbstractContextManager[HangupDriver]]") -> None:
        self._lent = lent
        self._job: ForegroundJob | None = None
        self._ended = False
        self._over = Event()
        self._over.set()

    @property
    def is_open(self) -> bool:
        return not self._over.is_set()

    async def edit(self, text: str) -> Edited:
        """Open an editor with a text, and wait until it ends; raises `EditorFailed`."""
        with self._open():
            command = editor_command(os.environ)
            try:
                file = await asyncio.to_thread(DraftFile, text)
            except OSError as error:
                raise EditorFailed(
                    f"no file can be made for the editor: {reason(error)}"
                ) from error
            try:
                with self._lent() as driver:
                    code = await self._run([*command, str(file.path)], driver)
                    ended = self._ended or driver.is_hung_up
            except EditorFailed:
                await asyncio.to_thread(file.remove)
                raise
            return await asyncio.to_thread(file.edited, code, ended=ended)

    async def edit_file(self, path: Path) -> None:
        """Open an editor with a file, and wait until it ends; raises `EditorFailed`."""
        with self._open():
            command = editor_command(os.environ)
            with self._lent() as driver:
                code = await self._run([*command, str(path)], driver)
        if code:
            raise EditorFailed(f"the editor {_ending(code)}")

    @contextmanager
    def _open(self) -> Iterator[None]:
        self._over.clear()
        try:
            yield
        finally:
            self._over.set()

    async def end(self) -> None:
        """End the editor, if one is open, and wait until its text is back.

        It gets the signal of a closed terminal first, at which editors rescue unsaved text.
        """
        self._ended = True
        for number in (signal.SIGHUP, signal.SIGKILL):
            if self._job is not None:
                self._job.signal(number)
                self._job.signal(signal.SIGCONT)
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._over.wait()
                    return

    async def _run(self, command: list[str], driver: "HangupDriver") -> int:
        """Run a command in the terminal; a cancelled wait ends it."""
        try:
            job = driver.borrower = self._job = ForegroundJob(command, driver.fileno)
        except (OSError, ValueError) as error:
            raise EditorFailed(f"can't start the editor {command[0]}: {reason(error)}") from error
        waiting = start_task(off_loop(job.wait, "editor"))
        if self._ended:
            job.signal(signal.SIGHUP)
        try:
            return await asyncio.shield(waiting)
        except asyncio.CancelledError:
            job.signal(signal.SIGKILL)
            await waiting
            raise
        finally:
            self._job = None


def _ending(code: int) -> str:
    if code > 0:
        return f"ended with code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"
