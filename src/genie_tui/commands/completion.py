"""Completion in a room's composer: names, commands and their arguments."""

import asyncio
import shlex
from typing import Final

from genie_core.room.commands.files import file_names
from genie_core.room.commands.table import Completed
from genie_core.room.engine.controls import EngineControls
from genie_core.room.protocol.frames import JoinRequested
from genie_core.runtime.agent_options import MODE, MODEL
from genie_core.text.safe import visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.commands.custom import CustomCommands
from genie_tui.commands.registry import slash_commands
from genie_tui.widgets.composer.completion import Completions, Words
from genie_tui.widgets.composer.file_completion import FileCompletion
from genie_tui.widgets.composer.path_completion import PathCompletion, names_in

AGENTS: Final = ("genie", "system")
"""Names that address the agents, completed after an `@` like a person's."""

_ROLES: Final = (
    ("host", "moderates and invites as you do"),
    ("member", "reads, writes, with an own agent"),
    ("guest", "is answered by the host's agent"),
    ("observer", "only reads"),
)


class CommandCompletion:
    """Completes people, files, commands and their arguments. Reads folders in the background."""

    def __init__(self, context: RoomContext) -> None:
        self._context = context
        self._folders = PathCompletion(self._want)
        self._files = FileCompletion(self._find_files)
        self._custom = CustomCommands(context)
        context.composer.candidates = self.all

    def all(self) -> Completions:
        joined = self._context.open_room
        people = joined.state.present() if joined is not None else []
        controls = joined.engine.controls if joined is not None else None
        resources = map(visible_line, controls.resources) if controls is not None else ()
        names = (*AGENTS, *(person.name for person in people), *resources)
        known = controls.options.commands if controls is not None else ()
        commands = [(each.name, each.about) for each in known]
        return Completions(
            names,
            [*slash_completions(), *self._custom.words, *prompt_completions(controls)],
            self._argument,
            commands,
            self._files.choices,
        )

    def forget_files(self) -> None:
        """Look at the disk again for the next draft."""
        self._folders.clear()
        self._files.forget()
        self._custom.forget()

    @property
    def custom(self) -> CustomCommands:
        return self._custom

    def _argument(self, command: str, rest: str) -> tuple[str, Words] | None:
        """Return the argument being typed after a command, and its completions."""
        known = slash_commands().get(command.lower())
        if known is None or not known.completes:
            return None
        completes = known.completes
        if completes[0] in ("path", "mode"):  # these take all that follows
            place, typed = 0, rest
        else:
            *before, typed = rest.split(" ")
            place = len([word for word in before if word])
        if place >= len(completes) or not (typed or place or known.at_once):
            return None
        return typed, self._words(completes[place], typed)

    def _words(self, kind: Completed, typed: str) -> Words:
        context, joined = self._context, self._context.open_room
        names: list[str] = []
        match kind:
            case "path":
                return self._folders.choices(typed)
            case "role":
                return _ROLES
            case "model" | "mode":
                return self._options(kind)
            case "caller":
                names = [
                    each.name
                    for each in context.join_requests.callers
                    if isinstance(each, JoinRequested)
                ]
            case "person" if joined is not None:
                names = [*joined.state.people]
            case "file" if joined is not None:
                chosen = context.timeline.chosen
                names = [shlex.quote(name) for name in file_names(joined.state, chosen)]
            case "attachment":
                names = [shlex.quote(name) for name in context.attachments.attached.names()]
        return [(visible_line(name), "") for name in names]

    def _options(self, kind: str) -> Words:
        """Return the values of the agent program's option `kind`, for modes those of all others."""
        joined = self._context.open_room
        controls = joined.engine.controls if joined is not None else None
        options = controls.options.options if controls is not None else ()
        words: list[tuple[str, str]] = []
        for option in options:
            if option.category == kind:
                words += [(each.value, each.name) for each in option.choices]
            elif kind == MODE and option.category != MODEL:
                words += [(f"{option.id} {each.value}", option.name) for each in option.choices]
        return [(visible_line(value), visible_line(about)) for value, about in words]

    def _find_files(self) -> None:
        joined = self._context.open_room
        controls = joined.engine.controls if joined is not None else None
        if controls is None:
            self._files.forget()  # the engine may be loading
        else:
            self._context.start(self._take_files(controls), "files of the workspace")

    async def _take_files(self, controls: EngineControls) -> None:
        await asyncio.to_thread(self._files.set_files, await controls.workspace_files())
        if self._context.screen.is_running:
            self._context.composer.offer_again()

    def _want(self, folder: str) -> None:
        self._context.start(self._read(folder), "folders")

    async def _read(self, folder: str) -> None:
        self._folders.set_names(folder, await asyncio.to_thread(names_in, folder))
        if self._context.screen.is_running:  # else the list is gone already
            self._context.composer.offer_again()


def prompt_completions(controls: EngineControls | None) -> Words:
    """The prompts of tool servers that have started, with their arguments."""
    prompts = controls.prompts if controls is not None else ()
    return [
        (visible_line(each.command), " · ".join(filter(None, (each.usage, each.description))))
        for each in prompts
    ]


def prompt_help(context: RoomContext) -> list[tuple[str, str]]:
    """Return the prompts of tool servers as people type them, and their purpose; safe to show."""
    joined = context.open_room
    controls = joined.engine.controls if joined is not None else None
    prompts = controls.prompts if controls is not None else ()
    return [
        (
            visible_line(f"/{each.command} {each.usage}".strip()),
            visible_line(each.description or f"Use this prompt of {each.server}"),
        )
        for each in prompts
    ]


def slash_completions() -> Words:
    return [(name, spec.help) for name, spec in slash_commands().items()]
