"""What happens to the room as such, in one line each."""

from collections.abc import Mapping
from typing import Final

from genie_core.room.protocol.events import (
    ArgumentSharingChanged,
    EngineChanged,
    Event,
    HostStarted,
    Measure,
    MemberJoined,
    MemberLeft,
    MemberModerated,
    RoomCreated,
    RoomSuspended,
)
from genie_core.text.safe import visible_line

_DONE: Final[dict[Measure, str]] = {
    "kick": "{by} put {name} out",
    "ban": "{by} banned {name}",
    "pardon": "{by} lets {name} come back",
    "mute": "{by} muted {name}",
    "unmute": "{by} lets {name} write again",
    "role": "{by} made {name} {role}",
}
_ROLES: Final = {"member": "a member", "guest": "a guest", "observer": "an observer"}


def copied_from(hosted: HostStarted) -> str:
    """Say of which room this one is a copy, where it begins to be a room of its own."""
    if not hosted.copied:
        return ""
    how = {"import": "imported", "fork": "forked"}[hosted.copied]
    return f" ({how} from {visible_line(hosted.origin)})"


def announcement(event: Event, devices: Mapping[str, set[str]]) -> tuple[str, str] | None:
    """A mark and a line, safe to show; None for what needs no words.

    `devices` are the terminals at which people were before.
    """
    by = visible_line(event.by)
    match event.body:
        case RoomCreated(title=title):
            return "◇", f"the room {visible_line(title)} was opened"
        case HostStarted() as hosted:
            return "◇", f"{visible_line(hosted.host)} is hosting{copied_from(hosted)}"
        case RoomSuspended(heir=heir) if heir:
            return "◇", f"the room was handed over to {visible_line(heir)}"
        case RoomSuspended(reason=reason):
            return "◇", because("the room was suspended", reason)
        case MemberJoined() as joined:
            return "→", by + _joined(joined, again=bool(devices.get(event.by)))
        case MemberLeft(name=name, reason=reason, device=device):
            more = devices.get(name, set()) - {device} if device else set()
            how = "left one terminal" if more else "left"
            return "←", because(f"{visible_line(name)} {how}", reason)
        case EngineChanged(agent=agent) if agent:
            return "·", f"{by}'s agent is {visible_line(agent)} now"
        case MemberModerated() as moderated:
            return "⚑", because(_moderated(by, moderated), moderated.reason)
        case ArgumentSharingChanged(on=True):
            return "⚑", f"{by} shows guests what tools are called with"
        case ArgumentSharingChanged():
            return "⚑", f"{by} no longer shows guests what tools are called with"
    return None


def because(text: str, reason: str) -> str:
    """A line with its reason, if there is one."""
    return f"{text}: {visible_line(reason)}" if reason else text


def _joined(joined: MemberJoined, *, again: bool) -> str:
    role = {"guest": " as a guest", "observer": " as an observer"}.get(joined.role, "")
    agent = f" with {visible_line(joined.agent)}" if joined.agent and not role else ""
    where = " at another terminal" if again else ""
    return f" joined{role}{where}{agent}"


def _moderated(by: str, moderated: MemberModerated) -> str:
    role = _ROLES.get(moderated.role or "", "somebody else")
    words = _DONE[moderated.measure]
    return words.format(by=by, name=visible_line(moderated.name), role=role)
