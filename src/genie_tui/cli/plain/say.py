"""`genie-tui say`: post a message, and print the answer if it is waited for."""

import asyncio
from functools import partial
from typing import Final

from genie_core.errors import GenieError
from genie_core.privacy.redaction import secrets_in
from genie_core.room.client.events import EventsRecorded, MessageRejected
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.open.requests import JoinRoom
from genie_core.room.participant.room import JoinedRoom
from genie_core.room.state.thread import ToolApproval
from genie_core.room.view.approvals import arguments_line
from genie_core.room.view.wording import caveat, short_error
from genie_core.text.safe import visible, visible_line
from genie_tui.cli.options import ROOM_HELP, CommandParser, add_settings
from genie_tui.cli.plain.visit import Visit, complain, visit_room
from genie_tui.plugins import CommandCall

RECORDED: Final = 30.0
"""Seconds in which the room has to let the person in and to record the message."""


CALL: Final = 200
"""Characters of a tool call that are printed."""


class NotSent(GenieError):
    """A message was not recorded by the room, as far as is known here."""

    def __init__(self, why: str) -> None:
        super().__init__(f"not sent: {visible_line(why)}")


class Unanswered(GenieError):
    """A message was recorded, and no answer came."""


def run_say(call: CommandCall) -> int:
    """Post a message and leave; with `answer`, print the answer first."""
    options = call.options
    opening = JoinRoom(options.room, guest=True)
    work = partial(say, text=" ".join(options.text), answer=options.answer)
    return visit_room(opening, call.source, call.locations, work, signal_succeeds=False)


async def say(visit: Visit, text: str, answer: float = 0.0) -> int:
    """Post a message, and with `answer` wait so many seconds for the answer and print it.

    Raises:
        NotSent: the room did not let the person in or record the message in time, or refused it.
        Unanswered: no answer came in time.
    """
    if text.lstrip().startswith(("/msg ", "/ask ")):
        raise NotSent("all members would read it; private messages are sent from the room")
    if names := secrets_in(text):
        raise NotSent(f"it contains your secret {', '.join(names)}")
    try:
        async with asyncio.timeout(RECORDED):
            joined, _ = await visit.enter()
            seq = await _recorded(visit, joined, joined.messages.send(text))
    except TimeoutError as error:
        raise NotSent(f"the room did not take it within {RECORDED:.0f} s") from error
    if not answer:
        return 0
    try:
        async with asyncio.timeout(answer):
            await _ended(visit, joined, seq)
    except TimeoutError as error:
        raise Unanswered(f"no answer came within {answer:.0f} s") from error
    return await _print_answer(visit, joined, seq)


async def _recorded(visit: Visit, joined: JoinedRoom, id_: str) -> int:
    """Wait until the room has recorded a message; return its number."""
    while True:
        match await visit.next():
            case MessageRejected(reason=reason):
                raise NotSent(reason)
            case ConnectionStatus(state=ConnectionState.CLOSED, detail=detail):
                raise NotSent(detail or "the room closed")
            case EventsRecorded(events=events):
                for each in events:
                    is_said = each.posted is not None and each.posted.id == id_
                    if is_said and each.by == joined.name:
                        return each.seq


async def _ended(visit: Visit, joined: JoinedRoom, seq: int) -> None:
    """Wait until the work on a message has ended; say who has to approve which tool calls."""
    told: set[str] = set()
    while seq in joined.state.running:
        for call in joined.state.waiting_in(joined.state.threads[seq]):
            if call.id not in told:
                told.add(call.id)
                complain(_waiting(call))
        match await visit.next():
            case ConnectionStatus(state=ConnectionState.CLOSED, detail=detail):
                raise Unanswered(f"no answer: {visible_line(detail) or 'the room closed'}")


def _waiting(call: ToolApproval) -> str:
    shown = arguments_line(call.arguments, withheld=call.withheld)
    shown = shown if len(shown) <= CALL else f"{shown[:CALL]}…"
    return f"{call.owner} has to approve {call.tool}: {shown}"


async def _print_answer(visit: Visit, joined: JoinedRoom, seq: int) -> int:
    """Print the answer to a message; 1 if there is none."""
    thread = joined.state.threads[seq]
    if thread.answer is None:
        why = thread.decision.reason if thread.decision is not None else ""
        why = short_error(thread.error.error) if thread.error is not None else why
        complain(f"no answer{f': {why}' if why else ''}")
        return 1
    if doubt := joined.state.doubt_of(thread.answered_seq or 0):
        complain(caveat("", doubt))
    await visit.output.write_lines([visible(thread.answer.text)])
    return 0


_SAY_CODES: Final = """\
exit code: 0 if the room has recorded the message and, with --answer, the answer was printed; 1 if not;
2 for a wrong command line; 128 and the signal's number, such as 130 for ctrl+c, after a signal. The
room has 30 seconds to let you in and to record the message.
"""


def add_say(command: CommandParser) -> None:
    add_settings(command)
    command.add_argument("room", metavar="ROOM", help=ROOM_HELP)
    command.add_argument("text", metavar="TEXT", nargs="+", help="the message")
    command.add_argument(
        "--answer",
        metavar="SECONDS",
        type=float,
        nargs="?",
        const=120.0,
        default=0.0,
        help="wait for the answer and print it (default: up to 120)",
    )
    command.epilog = _SAY_CODES
    command.set_defaults(run=run_say)
