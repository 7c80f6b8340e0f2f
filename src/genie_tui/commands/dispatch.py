"""Sends messages typed in a room, and runs commands."""

from contextlib import suppress
from dataclasses import replace
from typing import Final

from genie_core.errors import GenieError
from genie_core.room.client.model import PendingMessage
from genie_core.room.commands.arguments import MessageLine, PromptLine
from genie_core.room.commands.table import (
    LATER_COMMAND,
    CommandLine,
    InvalidLine,
    later_command,
    parse_line,
)
from genie_core.text.safe import visible_line
from genie_tui.commands.context import Purpose, RoomContext, RoomNotOpen
from genie_tui.commands.custom import CustomCommands
from genie_tui.commands.handlers import engine, message
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.commands.registry import command_named, command_typed, run_effect

SENT_SOON: Final = "The room is still opening. Your input is sent as soon as it is open."
CLOSED: Final = "The room is closed. Your draft is kept."
PUBLIC: Final = "Not sent: this would go to the whole room, and you are writing a private message."

EXCERPT: Final = 60
"""Characters of a message shown to identify it."""

NOTICE_SECONDS: Final = 12.0
"""Seconds to show the notice about a refused message."""


def run_command(context: RoomContext, name: str) -> None:
    """Run a command by key or from the palette. Does nothing if it needs a room that is not open."""
    command = command_named(name)
    if callable(command.run):
        try:
            with suppress(RoomNotOpen):
                command.run(context)
        except GenieError as error:
            context.warn(str(error))


async def submit(context: RoomContext, custom: CustomCommands, text: str) -> None:
    """Send a message or run a slash command; on an error, restore the draft and show a warning."""
    line = parse_line(text)
    if names := context.attachments.secrets_in(text):
        _give_back(context, text, f"Not sent: it contains your secret {', '.join(names)}.")
    elif command := later_command(text):
        _give_back(context, text, f"Not sent: {LATER_COMMAND.format(command=command)}")
    elif isinstance(line, InvalidLine):
        if not await _run_custom(context, custom, text):
            _give_back(context, text, line.text)
    else:
        try:
            if isinstance(line, CommandLine):
                await _run_typed(context, line)
            elif isinstance(line, PromptLine) and context.purpose.to:
                _give_back(context, text, PUBLIC)
            elif isinstance(line, PromptLine):
                engine.use_prompt(context, line, text)
            else:
                joined = context.joined  # raises before the check for a closed room
                if context.composer.closed:
                    _give_back(context, text, CLOSED)
                elif context.purpose.editing:
                    if why := message.finish(context, line):
                        _give_back(context, text, why)
                else:
                    purpose = context.purpose
                    context.attachments.say(joined, replace(line, to=purpose.to), purpose.reply_to)
                    message.cancel(context)
        except RoomNotOpen:
            context.submitted_early.append(text)
            context.warn(SENT_SOON)
        except GenieError as error:
            _give_back(context, text, str(error))


async def submit_early(context: RoomContext, custom: CustomCommands) -> None:
    """Send the texts submitted before the room was open, in the same order."""
    early, context.submitted_early = context.submitted_early, []
    for text in early:
        await submit(context, custom, text)


def take_back(context: RoomContext, unsent: PendingMessage, why: str) -> None:
    """Show why the room refused a message, and make it the draft again.

    If the composer already has a draft, the message goes to the history instead.
    """
    said = visible_line(unsent.text) or ", ".join(_names(unsent))
    shown = said if len(said) <= EXCERPT else f"{said[:EXCERPT]}…"
    where, lost = _keep(context, unsent)
    again = f"Attach again: {', '.join(lost)}" if lost else ""
    notice = f"Not sent: {visible_line(why)}: {shown}\n{where} {again}"
    context.screen.notify(notice.strip(), severity="error", timeout=NOTICE_SECONDS)


def take_back_edit(context: RoomContext, number: int, text: str, why: str) -> None:
    """Show why the room refused an edit, and edit the message with its text again.

    If the composer is in use, or the message is gone, the text goes to the history instead.
    """
    shown = visible_line(text)
    shown = shown if len(shown) <= EXCERPT else f"{shown[:EXCERPT]}…"
    where = "It is your draft again."
    if not (_is_free(context) and message.edit_again(context, number, text)):
        context.composer.remember(message.as_input(context, number, text))
        key = keymap_of(context.screen).text(Scope.COMPOSER, "history")
        where = f"{key} brings the text back."
    notice = f"Not edited: {visible_line(why)}: {shown}\n{where}"
    context.screen.notify(notice, severity="error", timeout=NOTICE_SECONDS)


async def _run_custom(context: RoomContext, custom: CustomCommands, text: str) -> bool:
    """Run a command from a Markdown file; False if there is none of that name."""
    try:
        if (called := await custom.find(text)) is None:
            return False
        if context.composer.closed:
            _give_back(context, text, CLOSED)
        elif context.purpose.to:
            _give_back(context, text, PUBLIC)
        else:
            custom.run(*called, text)
    except GenieError as error:
        _give_back(context, text, str(error))
    return True


async def _run_typed(context: RoomContext, line: CommandLine) -> None:
    command, spec = command_typed(line.spec), line.spec
    if command is not None and command.typed is not None:
        command.typed(context, line.arguments)
    elif command is None or spec.read is not None:
        run_effect(context, spec, line.arguments)
    elif isinstance(command.run, str):
        await context.screen.run_action(command.run)
    elif command.run is not None:
        command.run(context)


def _keep(context: RoomContext, unsent: PendingMessage) -> tuple[str, list[str]]:
    """Keep a refused message; returns where, and the attachments that are gone."""
    line = MessageLine(unsent.text, unsent.emote, unsent.to, unsent.quiet)
    text = line.draft if unsent.text else ""
    joined, composer = context.open_room, context.composer
    if joined is not None and _is_free(context):
        if unsent.reply_to:
            text = replace(line, to="").draft if text else ""
            message.reply_again(context, unsent.reply_to, unsent.to)
        composer.draft = text
        lost = context.attachments.take_back(joined, unsent.files, unsent.quotes)
        return "It is your draft again.", lost
    if text:
        composer.remember(text)
    key = keymap_of(context.screen).text(Scope.COMPOSER, "history")
    return f"{key} brings the text back." if text else "", _names(unsent)


def _is_free(context: RoomContext) -> bool:
    """Whether the composer has nothing to send and is for a message of its own."""
    has_content = context.composer.draft or context.attachments.attached
    return not has_content and context.purpose == Purpose()


def _give_back(context: RoomContext, draft: str, why: str) -> None:
    context.give_back(draft)
    context.warn(why)


def _names(unsent: PendingMessage) -> list[str]:
    quotes = [f"messages of {visible_line(quote.title)}" for quote in unsent.quotes]
    return [*(visible_line(file.name) for file in unsent.files), *quotes]
