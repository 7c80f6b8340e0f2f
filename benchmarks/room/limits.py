"""What a room usually refuses and lets pass here: so much from so few, and so many from one place."""

from typing import Final

import msgspec

from genie_core.room.protocol.limits import Limits

PLENTY: Final = 1_000_000
LIMITS: Final = Limits(
    members=1_000, joins=PLENTY, burst=PLENTY, per_second=PLENTY, volume=PLENTY * 1_000
)


def raised() -> str:
    """Name the limits that are not as usual."""
    usual, ours = msgspec.structs.asdict(Limits()), msgspec.structs.asdict(LIMITS)
    return ", ".join(f"{name} {ours[name]:,}" for name in ours if ours[name] != usual[name])
