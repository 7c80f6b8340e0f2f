"""Canonical forms of built-in tools' arguments, for comparison with rules.

"docs/../keys" begins like "docs/", but " keys/", "./keys" and a link to keys don't begin like
"keys". Rules must match the effect of a call.
"""

import re
import socket
from contextlib import suppress
from ipaddress import IPv6Address
from typing import Final

from genie_core.assistant.tools.catalog import COMMAND_TOOLS, FILE_TOOLS, WEB_TOOLS
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace

PATH_ARGUMENTS: Final = ("path", "folder", "to")
"""Arguments of built-in tools that are paths."""


def normalized(workspace: Workspace | None, tool: str, name: str, value: str) -> tuple[str, ...]:
    """Return the canonical forms of an argument; empty if it has only one form.

    Also empty for values that the tool would refuse, such as a path outside of the workspace.
    """
    if name in PATH_ARGUMENTS and tool in (*FILE_TOOLS, *COMMAND_TOOLS) and workspace is not None:
        return _places(workspace, value)
    if name == "url" and tool in WEB_TOOLS:
        return _addresses(value)
    return ()


def _places(workspace: Workspace, value: str) -> tuple[str, ...]:
    try:
        place = workspace.place(value).relative_to(workspace.root).as_posix()
    except AccessRefused:
        return ()
    return (place, "") if place == "." else (place,)


def _addresses(value: str) -> tuple[str, ...]:
    import httpx2

    try:
        url = httpx2.URL(value.strip())
        url = url.copy_with(host=_plain_host(url.host.rstrip(".")), fragment=None)
        written = str(url)
    except (httpx2.InvalidURL, ValueError, TypeError):
        return ()
    bare = url.raw_path == b"/" and not written.endswith("/")
    return (written, f"{written}/") if bare else (written,)


def _plain_host(host: str) -> str:
    """Return a host; an address in its usual form, as of 127.1, 2130706433 and ::ffff:127.0.0.1."""
    with suppress(OSError, ValueError):
        if re.fullmatch(r"[0-9a-fx.]+", host):
            return socket.inet_ntoa(socket.inet_aton(host))
        if ":" in host:
            address = IPv6Address(host)
            return str(address.ipv4_mapped or address)
    return host


def host_of(address: str) -> str:
    """Return the host of an address or of a pattern for one, without user and port."""
    authority = re.split(r"[/?#]", address.partition("://")[2], maxsplit=1)[0]
    return re.sub(r":[0-9*]*$", "", authority.rpartition("@")[2]).strip("[]")


def readable_host(host: str) -> str:
    """Return a host without the encoding of letters beyond ASCII."""
    import httpx2

    try:
        return httpx2.URL(scheme="http", host=host).host
    except (httpx2.InvalidURL, ValueError, TypeError):
        return host
