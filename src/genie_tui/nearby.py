"""A room that somebody on the network announces, as a person sees it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NearbyRoom:
    """What the network says of a room, and what this person has of it.

    `words` is the fingerprint of the host's key. `copy` is the folder of the own copy if the host
    is one whom that copy knows; only then `pin` and `addresses` may be followed without an invite.
    `claimed` is the title of the own copy of a room whose id is announced by another host.
    """

    room: str
    title: str
    host: str
    key: str
    words: str
    pin: str
    addresses: tuple[str, ...]
    copy: str = ""
    claimed: str = ""

    @property
    def known(self) -> bool:
        """Whether it can be joined without an invite."""
        return bool(self.copy)

    @property
    def id(self) -> str:
        """One room may have several who say that they host it."""
        return f"{self.key} {self.room}"
