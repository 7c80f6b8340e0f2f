"""Whom a member follows when somebody else says that they host the room now."""

from genie_core.room.deed import Deed, is_valid
from genie_core.room.fold import RoomState
from genie_core.room.names import fold_name


def may_host(state: RoomState, deed: Deed) -> bool:
    """Whether a deed is by somebody who may host the room that this state is of.

    That is whoever took part in it with the deed's key, with an engine of their own, and was
    neither put out for good nor kept from speaking since. The deed may come from anywhere.
    """
    name = state.owner_of(deed.key)
    if name is None or deed.room != state.room or not is_valid(deed):
        return False
    folded = fold_name(name)
    person = state.people.get(name)  # a log may name a host who never came in
    if person is None or person.role not in ("host", "member") or folded in state.muted:
        return False
    return folded not in state.banned and fold_name(deed.host) == folded
