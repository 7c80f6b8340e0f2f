"""Commands about hosting: inviting, letting people in, moderating, handing over, taking over."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import time
from typing import TYPE_CHECKING, Final

from textual.content import Content

from genie_core.errors import GenieError
from genie_core.room.client.model import Continuation
from genie_core.room.commands.arguments import InviteOptions
from genie_core.room.commands.hosting import (
    UNCONNECTED,
    cannot_continue,
    cannot_take_over,
    no_authority,
    offer,
    request_invite,
)
from genie_core.room.commands.outcome import Result
from genie_core.room.open.requests import to_continue, to_follow, to_take_over
from genie_core.room.protocol.frames import HostingOffered, InviteIssued, JoinRequested
from genie_core.room.view.continuations import CONTINUE, about_continuing
from genie_core.text.safe import visible_line
from genie_tui.commands.context import RoomContext
from genie_tui.commands.keymap import keymap_of
from genie_tui.commands.keys import Scope
from genie_tui.screens.dialogs.confirm import ConfirmScreen
from genie_tui.screens.dialogs.invite import InviteScreen, Terms, renewed, terms_of
from genie_tui.widgets.join_requests import Caller

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

logger = logging.getLogger(__name__)

SHOWN: Final = InviteOptions()
ANOTHER: Final = InviteOptions(new=True)


def invite(context: RoomContext, options: InviteOptions = SHOWN) -> None:
    """Show the invite, or make another one."""
    joined = context.joined
    hosting = joined.hosting.invites
    if hosting is None:
        _ask_for_invite(context, options)
        return
    try:
        if options.makes_one:
            context.invite_terms = renewed(hosting, options, time())
        elif context.invite_terms.invite != hosting.invite:
            context.invite_terms = Terms(hosting.invite)
    except GenieError as error:
        context.warn(str(error))
        return

    context.start(_note_shared(context, joined.saved), "shared")
    renew = partial(renewed, hosting, ANOTHER, time())
    _show_invite(context, renew, takes_invites=hosting.takes_invites)


def _show_invite(
    context: RoomContext, renew: Callable[[], Terms | None], *, takes_invites: bool = True
) -> None:
    def remember(terms: Terms | None) -> None:
        context.invite_terms = terms or context.invite_terms

    joined = context.joined
    title, address = joined.state.title, joined.hosting.address
    dialog = InviteScreen(
        renew,
        title,
        address,
        context.invite_terms,
        context.clock,
        takes_invites=takes_invites,
    )
    _ = context.screen.app.push_screen(dialog, remember)


def _ask_for_invite(context: RoomContext, options: InviteOptions) -> None:
    """Ask the host for an invite, as a member with the host's role; `show_issued` shows it."""
    joined = context.joined
    if objection := no_authority(joined):
        context.warn(objection)
        return
    try:
        is_asked = request_invite(joined, options)
    except GenieError as error:
        context.warn(str(error))
        return
    if is_asked:
        context.invite_asked = terms_of(options, time())
    else:
        context.warn(UNCONNECTED)


def show_issued(context: RoomContext, issued: InviteIssued) -> None:
    """Show the invite that the host has issued for this person, unless they asked for none."""
    asked, context.invite_asked = context.invite_asked, None
    if asked is None:
        return
    context.invite_terms = replace(asked, invite=issued.invite)
    top = context.screen.app.screen
    if isinstance(top, InviteScreen):
        top.take(context.invite_terms)
    else:
        _show_invite(context, partial(_ask_for_invite, context, ANOTHER))


async def _note_shared(context: RoomContext, saved: str) -> None:
    """Keep the room, even if it is empty: others may come by the invite."""
    try:
        await asyncio.to_thread(context.service.note_shared, saved)
    except GenieError:
        logger.warning("it could not be noted that the invite was shown", exc_info=True)


def admit(context: RoomContext, name: str) -> None:
    _answer_named(context, name, allow=True)


def refuse(context: RoomContext, name: str) -> None:
    _answer_named(context, name, allow=False)


def answer(context: RoomContext, caller: Caller, *, allow: bool) -> None:
    """Answer a person who wants to join or offers to hand over, or who continues the room."""
    joined = context.joined
    if isinstance(caller, Continuation):
        _answer_continuation(context, caller, follow=allow)
        return
    if isinstance(caller, JoinRequested):
        taken = joined.hosting.admit(caller.knock, allow)
    else:
        taken = not allow or joined.hosting.accept()
    if taken:
        context.join_requests.remove_caller(caller, by_person=True)
    else:
        context.warn(UNCONNECTED)
    if taken and allow and isinstance(caller, HostingOffered):
        context.screen.notify(f"You host the room as soon as {visible_line(caller.by)} leaves.")


def _answer_continuation(context: RoomContext, found: Continuation, *, follow: bool) -> None:
    joined = context.joined
    context.join_requests.remove_caller(found, by_person=True)
    if follow:
        context.reopen(partial(to_follow, found=found), f"follows {visible_line(found.by)}")
    else:
        context.start(_decline(joined, found), "declining")


async def _decline(joined: "JoinedRoom", found: Continuation) -> None:
    """Ask no more about a room."""
    try:
        await asyncio.to_thread(joined.decline, found.room)
    except GenieError:
        logger.warning("it could not be noted that the person stays", exc_info=True)


def host(context: RoomContext, name: str) -> None:
    """Ask a member to host; without a name, host the room while its host is away."""
    joined = context.joined
    if not name:
        take_over(context)
    else:
        context.attempt(partial(_offer, joined, name))


def _offer(joined: "JoinedRoom", name: str) -> Result:
    offer(joined, name)
    return Result(f"Asking {visible_line(name)} whether they would host…")


def take_over(context: RoomContext) -> None:
    """Host the room from the own copy while its host is away, or offer to continue as a new room."""
    joined = context.joined
    if not (objection := cannot_take_over(joined)):
        context.reopen(to_take_over, "hosts the room")
    elif not cannot_continue(joined):
        continue_room(context)
    else:
        context.warn(objection)


def continue_room(context: RoomContext) -> None:
    """Ask whether to continue the room as a new one, and do so."""
    joined = context.joined
    if objection := cannot_continue(joined):
        context.warn(objection)
        return

    def act(agreed: bool | None) -> None:  # noqa: FBT001 - the dialog's result
        if agreed:
            context.reopen(to_continue, "continues in a new room")

    text = Content(about_continuing(joined.state.title, joined.state.host))
    dialog = ConfirmScreen(CONTINUE, text, "continue it", context.clock)
    _ = context.screen.app.push_screen(dialog, act)


def _answer_named(context: RoomContext, name: str, *, allow: bool) -> None:
    joined = context.joined
    knocks = context.join_requests.knocks_by(name)
    if objection := no_authority(joined):
        context.warn(objection)
    elif not knocks:
        context.warn(f"There is no join request from {visible_line(name)}.")
    elif len(knocks) > 1:
        key = keymap_of(context.screen).text(Scope.ROOM, "join-requests")
        context.warn(f"Several join requests use this name: answer each on its card ({key}).")
    else:
        answer(context, knocks[0], allow=allow)
