"""Commands from Markdown files: their completion, their help, and sending one."""

import asyncio
from typing import TYPE_CHECKING, Final

from textual.content import Content

from genie_core.errors import GenieError
from genie_core.room.engine.controls import CustomCommand, EngineControls
from genie_core.room.protocol.events import mark_of_source
from genie_core.text.safe import visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.commands.registry import slash_commands
from genie_tui.widgets.approvals.call_text import text_content
from genie_tui.widgets.composer.completion import Words

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

TO_AGENT: Final = "@genie "

ASK: Final = (
    "The workspace has this command in {0}; others may have written it. Everyone in the room sees "
    "the message, and your agent acts on it:\n\n"
)
TYPED: Final = "\n\nWith your words: {0}"


class CustomCommands:
    """The commands that the engine of a room found in Markdown files, as they were last read."""

    def __init__(self, context: RoomContext) -> None:
        self._context = context
        self._commands: dict[str, CustomCommand] = {}
        self._is_fresh = False

    def forget(self) -> None:
        """Read the files again at the next use."""
        self._is_fresh = False

    @property
    def words(self) -> Words:
        """The names for completion, each with its effect."""
        if not self._is_fresh and (controls := self._controls) is not None:
            self._is_fresh = True
            self._context.start(self._take(controls), "custom commands")
        return [(each.name, visible_line(each.about)) for each in self._commands.values()]

    async def help(self) -> list[tuple[str, str]]:
        """Return the commands and their effects."""
        if (controls := self._controls) is not None:
            await self._read(controls)
        return [
            (f"/{each.name}", visible_line(f"{each.about} ({each.file})"))
            for each in self._commands.values()
        ]

    async def find(self, text: str) -> tuple[CustomCommand, str] | None:
        """Return the command that a submitted text calls, and its arguments; None for none."""
        name, _, rest = text.removeprefix("/").partition(" ")
        if not text.startswith("/") or name in slash_commands():
            return None
        if (controls := self._controls) is not None:
            await self._read(controls)
        command = self._commands.get(name)
        return None if command is None else (command, rest.strip())

    def run(self, command: CustomCommand, arguments: str, draft: str) -> None:
        """Send the message of a command, after a question if others may have written it.

        The `draft` returns to the composer if the message is not sent.
        """
        joined, text = self._context.joined, TO_AGENT + command.message(arguments)
        if names := self._context.attachments.secrets_in(text):
            self._context.give_back(draft)
            self._context.warn(f"Not sent: it contains your secret {', '.join(names)}.")
        elif command.is_own:
            joined.messages.send(text)
        else:
            self._context.start(self._ask(joined, command, arguments, draft), "custom command")

    async def _ask(
        self, joined: "JoinedRoom", command: CustomCommand, arguments: str, draft: str
    ) -> None:
        service = self._context.service
        if not await asyncio.to_thread(service.was_shown, command):
            asked = ASK.format(visible_line(command.file))
            said = TYPED.format(visible_line(arguments)) if arguments else ""
            shown = Content.assemble(asked, text_content(command.text), said)
            title = f"Send the command /{command.name}?"
            if not await self._context.confirm(title, shown, "send it", read_first=True):
                self._context.give_back(draft)
                return
            await asyncio.to_thread(service.note_shown, command)
        try:
            text = TO_AGENT + command.message(arguments)
            joined.messages.send(text, quotes=[mark_of_source(f"the file {command.file}")])
        except GenieError as error:
            self._context.give_back(draft)
            self._context.warn(str(error))

    @property
    def _controls(self) -> EngineControls | None:
        joined = self._context.open_room
        return joined.engine.controls if joined is not None else None

    async def _take(self, controls: EngineControls) -> None:
        await self._read(controls)
        if self._context.screen.is_running:
            self._context.composer.offer_again()

    async def _read(self, controls: EngineControls) -> None:
        found = await controls.custom_commands()
        self._commands = {each.name: each for each in found if each.name not in slash_commands()}
