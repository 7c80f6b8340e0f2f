"""`genie-tui servers`: list the tool servers, log in at one by OAuth, and log out."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, TextIO

from genie_core.errors import GenieError
from genie_core.settings.model import assistant_config, default_name
from genie_tui.cli.options import CommandParser, add_settings, parts_of
from genie_tui.cli.output import safe_line
from genie_tui.plugins import CommandCall

if TYPE_CHECKING:
    from genie_core.assistant.secrets import OwnSecrets
    from genie_core.assistant.servers.config_file import ServerSpec


class NoSuchServer(GenieError):
    """There is no tool server with that name, or it takes no login."""


def run_servers(call: CommandCall) -> int:
    """Run a servers command; returns the exit code.

    Raises `NoSuchServer`, and as `ready_to_start`, `log_in` and `OwnSecrets`.
    """
    from genie_core.assistant.secrets import OwnSecrets
    from genie_core.assistant.usable import servers_of

    options, settings, out = call.options, call.settings, call.stdout
    file = servers_of(assistant_config(settings, call.locations))
    servers = file.servers
    person = settings.name or default_name()
    secrets = OwnSecrets(person, call.locations.secrets, env=call.env)
    if options.part == "list":
        _list(servers, secrets, call.env, out)
        out.writelines(f"{safe_line(str(each))}\n" for each in file.problems)
        return 0
    spec = _one_with_login(servers, options.server)
    if options.part == "login":
        _log_in(spec, secrets, out, opens=options.browser)
    else:
        _log_out(spec, secrets, out)
    return 0


def _list(
    servers: Mapping[str, "ServerSpec"],
    secrets: "OwnSecrets",
    env: Mapping[str, str],
    out: TextIO,
) -> None:
    """List the servers, each with the obstacle to its start; none is started."""
    from genie_core.assistant.servers.launch import lacks
    from genie_core.assistant.servers.login import LoginStore, can_log_in

    width = max(map(len, servers), default=0)
    for name, spec in servers.items():
        kind = "on HTTP" if spec.url else "a program"
        logged_in = can_log_in(spec) and LoginStore(name, secrets).exists
        out.write(f"{name:{width}}  {kind}{', logged in' if logged_in else ''}\n")
        out.writelines(
            f"{'':{width}}  {safe_line(str(fault))}\n"
            for fault in lacks(spec, {**env, **secrets.get_secrets("")}, env)
        )
    if not servers:
        out.write("there are no tool servers\n")


def _one_with_login(servers: Mapping[str, "ServerSpec"], name: str) -> "ServerSpec":
    from genie_core.assistant.servers.config_entries import fit_name
    from genie_core.assistant.servers.login import can_log_in

    spec = servers.get(name) or servers.get(fit_name(name))
    if spec is None:
        known = ", ".join(servers) or "none"
        raise NoSuchServer(f"there is no tool server {name!r}; there are: {known}")
    if not can_log_in(spec):
        why = "has an Authorization header" if spec.url else "is a program"
        raise NoSuchServer(f"the tool server {name!r} {why}, so it takes no login")
    return spec


def _log_in(spec: "ServerSpec", secrets: "OwnSecrets", out: TextIO, *, opens: bool) -> None:
    from genie_core.assistant.servers.launch import ready_to_start
    from genie_core.assistant.servers.login import LoginStore, log_in
    from genie_core.room.commands.files import run_opener

    async def show(address: str) -> None:
        out.write(f"Log in at this address, in a browser on this machine:\n{address}\n")
        out.flush()
        if opens:
            with suppress(GenieError):  # without a browser the address is enough
                await run_opener(address, address, "")

    ready = ready_to_start(spec, secrets.get_secrets(""))
    where = asyncio.run(log_in(ready, LoginStore(spec.name, secrets), show))
    if where:
        out.write(f"Logged in at {spec.name}; the login is kept in {safe_line(where)}\n")
    else:
        out.write(f"{spec.name} can be used without logging in\n")


def _log_out(spec: "ServerSpec", secrets: "OwnSecrets", out: TextIO) -> None:
    from genie_core.assistant.servers.login import LoginStore

    store = LoginStore(spec.name, secrets)
    if not store.exists:
        out.write(f"not logged in at {spec.name}\n")
        return
    where = store.delete()
    out.write(f"Logged out at {spec.name}; the login is deleted from {safe_line(where)}\n")


def add_servers(command: CommandParser) -> None:
    command.used = frozenset()
    add_settings(command)
    command.set_defaults(run=run_servers, part="list")
    added = parts_of(command)
    added("list", "print the names, and where you are logged in")
    login = added("login", "log in at a server on HTTP that wants it (OAuth)")
    login.add_argument("server", metavar="NAME", help="a server of the mcpServers file")
    login.add_argument(
        "--no-browser",
        dest="browser",
        action="store_false",
        help="only print the address at which to log in",
    )
    added("logout", "forget a login").add_argument("server", metavar="NAME")
