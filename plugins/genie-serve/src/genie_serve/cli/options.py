"""The options of `genie-tui serve`, `admin` and `web`; importing this module is cheap."""

import argparse
from pathlib import Path
from typing import Final

from genie_tui.cli.options import (
    INPUT_HELP,
    AddPart,
    CommandParser,
    add_settings,
    parts_of,
    port_number,
    time_span,
    whole_number,
)
from genie_tui.plugins import CommandCall

_WEB_HELP: Final = """\
Each visitor is a guest of the room with a name of their own: without an engine, without approvals.
Only browsers on this machine reach the page by itself. For others, put a proxy with TLS in front of
--port and name with --url what people open, or serve it with a certificate:
  genie-tui web genie1-… --port 8080 --url https://chat.example.org
  genie-tui web genie1-… --host 0.0.0.0 --port 443 --url https://chat.example.org \\
      --certificate fullchain.pem --key privkey.pem

exit code: 0 after ctrl+c or a signal; 1 if the page can't be served; 2 for a wrong command line.
"""

_ADMIN: Final = """\
ROOM is the room's id or its title, or the start of one that no other room has; "delete" wants the
whole id.

Without --at, the service that runs on this machine, for the user who runs it, is asked; GENIE_HOME
says where its rooms are. With --at, one elsewhere that was added with "remote add": your key, which
"genie-tui id" prints, has to be among the "admins" in its serve.toml.

examples:
  genie-tui admin create Garden
  genie-tui admin invite Garden --once --for 2d
  genie-tui admin role Garden ann host
  genie-tui admin backup service.zip
  genie-tui admin remote add club chat.example.org:7654 PIN
  genie-tui admin rooms --at club

exit code: 0 if it was done; 1 if not, with the reason; 2 for a wrong command line.
"""

_ROLES: Final = ("host", "member", "guest", "observer")

LINK_LIFETIME: Final = 12 * 3_600.0
"""Seconds for which a link to a room's page lets people in, by default."""


def add_serve(add: AddPart) -> None:
    serve = add("serve", "host rooms that stay open, many at one port, without a screen")
    serve.used = frozenset({"port"})
    serve.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        help="how to serve (default: serve.toml beside the settings, which may be missing)",
    )
    serve.add_argument("--port", type=port_number, help="where members join (default: 7654)")
    serve.add_argument("--listen", metavar="HOST", help="the interface (default: all)")
    serve.add_argument(
        "--probe", action="store_true", help="say whether the running service is ready, and exit"
    )
    serve.set_defaults(command="serve", run=_run_serve)


def _run_serve(call: CommandCall) -> int:
    from genie_serve.cli.serve import run_serve

    return run_serve(call.options, call.locations, call.stdout)


def add_web(add: AddPart) -> None:
    web = add("web", "serve a page on which guests join a room in a browser")
    web.used = frozenset()
    web.formatter_class = argparse.RawDescriptionHelpFormatter
    web.epilog = _WEB_HELP
    web.add_argument(
        "way",
        metavar="INVITE",
        nargs="+",
        help="what the host gave you, or the start of the name of a room that you host here",
    )
    web.add_argument(
        "--for",
        dest="lifetime",
        type=time_span,
        default=LINK_LIFETIME,
        metavar="TIME",
        help="how long the link lets people in: 30m, 2h or 7d (default: 12h)",
    )
    web.add_argument(
        "--uses", type=whole_number, help="how many people it lets in (default: any number)"
    )
    web.add_argument("--observers", action="store_true", help="they may read, and not write")
    web.add_argument("--host", default="127.0.0.1", help="the address to serve it at")
    web.add_argument(
        "--port",
        dest="page_port",
        type=port_number,
        default=0,
        help="the port (default: any free one)",
    )
    web.add_argument("--url", default="", help="what people open, if it is not the address itself")
    web.add_argument("--certificate", metavar="FILE", help="serve it with TLS: a PEM file")
    web.add_argument("--key", metavar="FILE", help="the key of the certificate: a PEM file")
    web.set_defaults(command="web", run=_run_web)


def _run_web(call: CommandCall) -> int:
    from genie_serve.cli.web import run_web

    return run_web(call.options, call.locations, call.stdout, call.stderr)


def add_admin(add_command: AddPart) -> None:
    admin = add_command("admin", "look after the rooms of a service")
    admin.epilog, admin.formatter_class = _ADMIN, argparse.RawDescriptionHelpFormatter
    admin.used = frozenset({"name"})
    add_settings(admin)
    _add_asking(admin, "", json=False)
    admin.set_defaults(command="admin", part="status", run=_run_admin)
    add_part = parts_of(admin)
    unset = argparse.SUPPRESS  # as in add_settings

    def add(name: str, text: str, *, room: bool = True) -> CommandParser:
        part = add_part(name, text)
        _add_asking(part, unset, json=unset)
        if room:
            part.add_argument("room", metavar="ROOM", help="its id or title, or the start of one")
        return part

    add("status", "tell how the service is doing (default)", room=False)
    add("rooms", "list all rooms", room=False)
    create = add("create", "open a new room", room=False)
    create.add_argument("title", metavar="TITLE", nargs="+")
    add("archive", "close a room for its members; it is kept")
    add("unarchive", "open an archived room again")
    delete = add("delete", "move an archived room to the trash of the service's machine")
    delete.add_argument("--title", default="", help="the room's title again (default: it is asked)")
    invite = add("invite", "print a new invite to a room")
    invite.add_argument(
        "--role", choices=_ROLES, help="what those who join by it are (default: member)"
    )
    invite.add_argument(
        "--for",
        dest="lifetime",
        type=time_span,
        metavar="TIME",
        help="how long it lets people in: 30m, 2h or 7d",
    )
    web = add("web", "print a link by which guests join a room in a browser")
    web.add_argument(
        "--for",
        dest="lifetime",
        type=time_span,
        default=LINK_LIFETIME,
        metavar="TIME",
        help="how long it lets people in: 30m, 2h or 7d (default: 12h)",
    )
    web.add_argument("--observers", action="store_true", help="they may read, and not write")
    for part in (invite, web):
        part.add_argument(
            "--uses", type=whole_number, metavar="N", help="lets in N people (default: any number)"
        )
        part.add_argument(
            "--once", dest="uses", action="store_const", const=1, help="lets in one person"
        )
    add("void", "void all invites to a room; members stay")
    add("members", "list who is and was in a room")
    role = add("role", "give a member a role, or take it away by giving another")
    remove = add("remove", "remove a member from a room")
    pardon = add("pardon", "let a banned member join again")
    free = add("free", "free a name by which nobody wrote, for another person")
    for part in (role, remove, pardon, free):
        part.add_argument("member", metavar="NAME", help="the member's name in the room")
    role.add_argument("role", choices=_ROLES, help="a host looks after the room; several may")
    remove.add_argument("--ban", action="store_true", help="and never let them in again")
    remove.add_argument("--reason", default="", metavar="WHY", help="all members read it")
    add("stop", "stop the service; members come back once it runs again", room=False)
    _add_service_backup(add_part)
    _add_remote(add_part("remote", "name the services elsewhere that you administer"))


def _add_asking(parser: CommandParser, remote: str, *, json: bool | str) -> None:
    parser.add_argument(
        "--at", default=remote, metavar="NAME", help="ask this service elsewhere, see remote"
    )
    parser.add_argument("--json", action="store_true", default=json, help="as JSON")


def _add_service_backup(add: AddPart) -> None:
    backup = add(
        "backup", "write rooms, invites, keys and serve.toml to a file; it may run meanwhile"
    )
    backup.add_argument("file", metavar="FILE", help="where to")
    backup.add_argument("--force", action="store_true", help="replace a file that is there")
    restore = add("restore", "restore a backup into an empty GENIE_HOME, or one room of it")
    restore.add_argument("file", metavar="FILE", help="what to read")
    restore.add_argument(
        "--room", default="", metavar="ID", help="only this room, beside those that are here"
    )
    for part in (backup, restore):
        part.epilog = INPUT_HELP
        part.add_argument(
            "--config",
            type=Path,
            metavar="FILE",
            help="the service's configuration (default: serve.toml beside the settings)",
        )


def _add_remote(remote: CommandParser) -> None:
    remote.set_defaults(action="list")
    add = remote.add_parts("parts", "PART")
    add("list", "print their names, addresses and pins").set_defaults(action="list")
    added = add("add", "name a service; status on its machine prints address and pin")
    added.set_defaults(action="add")
    removed = add("remove", "forget a name")
    removed.set_defaults(action="remove")
    for part in (added, removed):
        part.add_argument("remote", metavar="NAME")
    added.add_argument("address", metavar="HOST:PORT")
    added.add_argument("pin", metavar="PIN", help="the fingerprint of its certificate")


def _run_admin(call: CommandCall) -> int:
    from genie_serve.cli.admin import run_admin

    settings = call.source.read().settings
    return run_admin(call.options, settings, call.locations, call.stdin, call.stdout, call.stderr)
