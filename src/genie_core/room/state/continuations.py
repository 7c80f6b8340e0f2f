"""Which announced rooms may continue one whose host is gone."""

from genie_core.room.protocol.host_record import HostRecord
from genie_core.room.protocol.names import fold_name
from genie_core.room.state.room_state import RoomState


def may_be_continued(state: RoomState, deed: HostRecord, continues: str) -> bool:
    """Whether it is worth asking the signer of a host record for a proof that this room goes on there.

    `continues` is the id that the announcement names, which nobody has signed. The signer took part
    here as a person and member, and has been neither banned nor muted since.
    """
    name = state.members.entitled(deed.key)
    is_theirs = name is not None and fold_name(name) == fold_name(deed.host)
    return is_theirs and bool(state.room) and continues == state.room != deed.room
