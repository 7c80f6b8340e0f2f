"""`genie-tui tail`: print the events of a room."""

from functools import partial
from typing import Final

from genie_core.room.client.events import EventsRecorded
from genie_core.room.client.model import ConnectionState, ConnectionStatus
from genie_core.room.open.requests import JoinRoom
from genie_core.room.view.reader import Earlier
from genie_core.room.view.wording import because
from genie_tui.cli.options import ROOM_HELP, CommandParser, add_settings
from genie_tui.cli.plain.lines import entries_of, json_of, last_entries
from genie_tui.cli.plain.visit import Visit, complain, visit_room
from genie_tui.plugins import CommandCall


def run_tail(call: CommandCall) -> int:
    """Print the events of a room until the connection ends or a signal arrives."""
    work = partial(tail, last=call.options.last, as_json=call.options.json)
    opening = JoinRoom(call.options.room, guest=True)
    return visit_room(opening, call.source, call.locations, work)


async def tail(visit: Visit, last: int = 20, *, as_json: bool = False) -> int:
    """Print the last entries and then each one that is recorded; 1 when the connection ends."""
    joined, past = await visit.enter()
    state, earlier = joined.state, Earlier()
    earlier.begin(state)
    if as_json:
        await visit.output.write(
            json_of(each, state) for each in past[max(0, len(past) - max(0, last)) :]
        )
    else:
        await visit.output.write(last_entries(past, state, last))
    while True:
        match await visit.next():
            case EventsRecorded(events=events) if as_json:
                await visit.output.write(json_of(each, state) for each in events)
            case EventsRecorded(events=events):
                await visit.output.write(entries_of(events, state, earlier))
            case ConnectionStatus(state=ConnectionState.CLOSED, detail=detail):
                complain(detail or "the room closed")
                return 1
            case ConnectionStatus(state=ConnectionState.RETRYING as now, detail=detail):
                complain(because(f"connection: {now.value}", detail))


_TAIL_CODES: Final = """\
exit code: 0 after a signal such as ctrl+c; 1 if the room could not be entered or the connection ended;
2 for a wrong command line; 141 if the reader of the output is gone, as after "| head".
"""


def add_tail(command: CommandParser) -> None:
    add_settings(command)
    command.add_argument("room", metavar="ROOM", help=ROOM_HELP)
    command.add_argument(
        "--json",
        action="store_true",
        help='the events as JSON, one on each line; "doubt" says what is not proven',
    )
    command.add_argument(
        "--last",
        metavar="N",
        type=int,
        default=20,
        help="begin with the last N entries (default: 20)",
    )
    command.epilog = _TAIL_CODES
    command.set_defaults(run=run_tail)
