"""Asks a running service of this machine whether it serves its members."""

import http.client
import json
from typing import Final

from genie_core.room.protocol.address import Address

TIMEOUT: Final = 5.0


def probe(ops: Address) -> str:
    """Return why members are not served; empty if they are. Blocks for seconds at most."""
    connection = http.client.HTTPConnection(ops.host, ops.port, timeout=TIMEOUT)
    try:
        connection.request("GET", "/readyz")
        return "; ".join(json.loads(connection.getresponse().read())["reasons"])
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError) as error:
        return f"no service answers at {ops}: {error}"
    finally:
        connection.close()
