"""Effects of commands about hosting: moderation, heirs and invites, and who may use them."""

from typing import TYPE_CHECKING

from genie_core.room.client.model import ConnectionState
from genie_core.room.commands.arguments import HeirsRequest, InviteOptions, ModerationRequest
from genie_core.room.commands.outcome import NotDone, Outcome, Result
from genie_core.room.protocol.names import fold_name
from genie_core.room.view.wording import order_line

if TYPE_CHECKING:
    from genie_core.room.participant.room import JoinedRoom

UNCONNECTED = "Not connected: nothing was changed."
NO_INVITE = "There is no invite: the room is only for this machine, or all invites have ended."


def moderate(joined: "JoinedRoom", request: ModerationRequest) -> None:
    """Kick, ban, pardon, mute or unmute a person, free their name, or change their role."""
    check(no_authority(joined))
    sent(
        joined.hosting.moderate(
            request.measure, request.name, role=request.role, reason=request.reason
        )
    )


def share(joined: "JoinedRoom", on: bool) -> None:  # noqa: FBT001 - the command's one argument
    """Show or hide the arguments of tool calls to guests; only the host shows them."""
    check(only_host(joined) if on else no_authority(joined))
    sent(joined.hosting.share(on))


def set_heirs(joined: "JoinedRoom", request: HeirsRequest) -> Outcome:
    """Choose who may host the room while its host is away, or show who may."""
    if request.show:
        return Result(order_line(joined.state))
    check(only_host(joined))
    sent(joined.hosting.set_heirs(request.names, automatic=request.automatic))
    return None


def offer(joined: "JoinedRoom", name: str) -> None:
    """Ask a member to host next."""
    check(only_host(joined))
    if fold_name(name) == fold_name(joined.name):
        raise NotDone("You are the host already.")
    sent(joined.hosting.offer(name))


def invite(joined: "JoinedRoom", options: InviteOptions) -> Outcome:
    """Return an invite of a room that is hosted here, or ask the host for one."""
    check(no_authority(joined))
    hosting = joined.hosting.invites
    if hosting is None:
        sent(request_invite(joined, options))
        return None
    made = hosting.invite
    if options.makes_one:
        make = hosting.renew if options.new else hosting.issue
        made = make(uses=options.uses, lifetime=options.lifetime, role=options.role)
    return Result(made, "Invite") if made else Result(NO_INVITE)


def request_invite(joined: "JoinedRoom", options: InviteOptions) -> bool:
    """Ask the host for an invite; False if not connected. Raises `InvitesUnknown`."""
    return joined.hosting.ask_for_invite(
        uses=options.uses, lifetime=options.lifetime, role=options.role, new=options.new
    )


def check(objection: str) -> None:
    """Raise an objection, unless it is empty."""
    if objection:
        raise NotDone(objection)


def sent(is_sent: bool) -> None:  # noqa: FBT001 - the one argument
    """Raise `NotDone` if a request could not be sent."""
    if not is_sent:
        raise NotDone(UNCONNECTED)


def only_host(joined: "JoinedRoom") -> str:
    """Why this person may not act as the host; empty if they are the host."""
    host = joined.state.host
    if not host or joined.state.is_host(joined.name):
        return ""
    return f"Only the host may do that, and {host} is hosting."


def no_authority(joined: "JoinedRoom") -> str:
    """Why this person may not moderate and invite; empty if they have the host's role."""
    state = joined.state
    if state.administers(joined.name) or not (objection := only_host(joined)):
        return ""
    others = [name for name in state.people if state.administers(name) and not state.is_host(name)]
    return f"{objection} {' and '.join(others)} may, too." if others else objection


def cannot_take_over(joined: "JoinedRoom") -> str:
    """Why this person can't host the room from their own copy now; empty if they can."""
    state = joined.state
    if fold_name(joined.name) == fold_name(state.host):
        return "You are the host. /host NAME asks a member to host."
    person, is_banned = state.people.get(joined.name), fold_name(joined.name) in state.banned
    if person is None or person.role not in ("host", "member") or is_banned:
        return "Only members of the room can host it from their copy."
    if state.hosting and joined.connection.state is ConnectionState.ONLINE:
        return f"{state.host} is hosting. You can take over while they are away."
    is_heir = joined.may_host
    if not is_heir and state.members.holds_host_role(joined.name):
        return "Who has the host's role moderates and invites, but doesn't host; a member can."
    if not is_heir:
        return f"{state.host} has not named you as an heir, who may host this room."
    if joined.connection.state is ConnectionState.RETRYING or (
        joined.connection.state is ConnectionState.CLOSED and not state.hosting
    ):
        return ""
    return f"{state.host} is hosting. You can take over while they are away."


def cannot_continue(joined: "JoinedRoom") -> str:
    """Why this person can't continue the room as a new one now; empty if they can."""
    state = joined.state
    if state.is_host(joined.name):
        return "You are the host of this room."
    if joined.connection.state is not ConnectionState.RETRYING:
        return f"{state.host} is hosting. You can continue in a new room while they are away."
    if joined.may_host:
        return cannot_take_over(joined) or "You may host this room itself: /host"
    person = state.people.get(joined.name)
    if not joined.saved or person is None or state.members.entitled(person.key) is None:
        return "Only members can continue the room from their copy, no guests or observers."
    return ""
