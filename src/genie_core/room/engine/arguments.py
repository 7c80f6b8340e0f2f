"""Arguments of a tool call: shown, compared, and restored after editing."""

import hashlib
from typing import Any

import msgspec

from genie_core.agent.approval import Approval
from genie_core.privacy.redaction import mask_value, put_back


def shown(request: Approval) -> dict[str, Any]:
    """Return positional and keyword arguments in one table, as the room's log shows them.

    Values that JSON can't express become their `repr`, and known secrets are masked. Raises the
    exceptions of reading a value.
    """
    table: dict[str, Any] = mask_value(given(request))
    return table


def unmasked(edited: dict[str, Any] | None, request: Approval) -> dict[str, Any] | None:
    """Put masked secrets back into arguments that a person has edited."""
    if edited is None:
        return None
    restored: dict[str, Any] = put_back(edited, given(request))
    return restored


def digest(request: Approval) -> str:
    """Return a digest of a call's tool, schema and shown arguments, in hex."""
    return digest_of(request.tool_name, request.schema, shown(request))


def digest_of(tool: str, schema: dict[str, Any] | None, arguments: dict[str, Any]) -> str:
    """Like `digest`, for the parts of a call."""
    call = tool, schema, arguments
    plain = msgspec.json.encode(call, order="deterministic", enc_hook=repr)
    return hashlib.sha256(plain).hexdigest()


def given(request: Approval) -> dict[str, Any]:
    """Return positional and keyword arguments in one table, with secrets; as `shown` otherwise."""
    positional = {str(index): value for index, value in enumerate(request.tool_args)}
    table = {**positional, **request.tool_kwargs}
    plain: dict[str, Any] = msgspec.to_builtins(table, str_keys=True, enc_hook=repr)
    return plain
