"""The arguments of a tool call as they are shown, compared and run."""

import hashlib
from typing import Any

import msgspec

from genie_core.agent.approval import Approval
from genie_core.privacy.redaction import mask_value, put_back


def shown(request: Approval) -> dict[str, Any]:
    """Put positional and keyword arguments into one table, as the room's log shows them.

    What JSON can't express is shown the way Python would, and known secrets are hidden. Raises
    what looking at a value raises.
    """
    table: dict[str, Any] = mask_value(_table(request))
    return table


def unmasked(edited: dict[str, Any] | None, request: Approval) -> dict[str, Any] | None:
    """Put the hidden secrets back into arguments that a person has edited."""
    if edited is None:
        return None
    whole: dict[str, Any] = put_back(edited, _table(request))
    return whole


def digest(request: Approval) -> str:
    """Return a digest of a call's tool, schema and shown arguments, in hex."""
    call = request.tool_name, request.schema, shown(request)
    plain = msgspec.json.encode(call, order="deterministic", enc_hook=repr)
    return hashlib.sha256(plain).hexdigest()


def _table(request: Approval) -> dict[str, Any]:
    positional = {str(index): value for index, value in enumerate(request.tool_args)}
    table = {**positional, **request.tool_kwargs}
    plain: dict[str, Any] = msgspec.to_builtins(table, str_keys=True, enc_hook=repr)
    return plain
