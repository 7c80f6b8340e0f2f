"""The signed statement of who hosts a room where."""

from typing import Final

import msgspec

TEXT_BYTES: Final = 250
"""The longest room id and host name in a record, so that each fits into a DNS string."""

ADDRESSES: Final = 8
"""Most addresses in a record."""

ADDRESS_CHARS: Final = 64


class HostRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """`host` states that they host `room` at these addresses, with a certificate of this pin.

    `key` is the host's, `signature` theirs over the rest (`security.signing`), and `at` the time of
    signing in seconds since the epoch.
    """

    room: str
    host: str
    key: str
    pin: str
    addresses: tuple[str, ...] = ()
    at: float = 0.0
    signature: bytes = b""
