"""The command line of `genie-tui sessions`. Cheap to import."""

import argparse
from collections.abc import Callable
from typing import Final, TypeVar

from genie_tui.export_command import add_export, add_import

Parser = TypeVar("Parser", bound=argparse.ArgumentParser)

ID_HELP: Final = "the session's id, the start of it, or its title"


def add_sessions(commands: "argparse._SubParsersAction[Parser]", shared: Parser) -> None:
    """Describe the command and its parts."""
    sessions = commands.add_parser(
        "sessions", help="list, search, export and tidy up saved rooms", parents=[shared]
    )
    _add_list_options(sessions, "activity", [], json=False)
    sessions.set_defaults(command="sessions", part="list")
    parts = sessions.add_subparsers(title="parts", metavar="PART")

    def add(name: str, text: str) -> Parser:
        part = parts.add_parser(name, help=text, parents=[shared])
        part.set_defaults(part=name)
        return part

    # The part's own defaults would overwrite what was given before its name.
    unset = argparse.SUPPRESS
    _add_list_options(add("list", "list all sessions, the latest first"), unset, unset, json=unset)
    _add_looking(add)
    _add_changing(add)
    add_export(parts, shared).set_defaults(part="export")
    add_import(parts, shared).set_defaults(part="import")


def _add_looking(add: Callable[[str, str], Parser]) -> None:
    show = add("show", "tell what is known of one session")
    show.add_argument("id", metavar="ID", help=ID_HELP)
    show.add_argument(
        "--last", type=_count, default=5, metavar="N", help="so many messages (default: 5)"
    )
    show.add_argument("--json", action="store_true", help="as JSON")
    search = add("search", "find words in all sessions")
    search.add_argument("words", metavar="TEXT", nargs="+", help='words, or "a phrase"')
    search.add_argument(
        "--limit", type=_count, default=20, metavar="N", help="at most so many hits (default: 20)"
    )
    search.add_argument("--json", action="store_true", help="as JSON")


def _add_changing(add: Callable[[str, str], Parser]) -> None:
    rename = add("rename", "give a session another title")
    rename.add_argument("id", metavar="ID", help=ID_HELP)
    rename.add_argument("title", metavar="TITLE", nargs="+")
    tag = add("tag", "put tags on a session, or take them off")
    tag.add_argument("id", metavar="ID", help=ID_HELP)
    tag.add_argument("tags", metavar="TAG", nargs="*", help="without any: print those it has")
    tag.add_argument(
        "--remove", metavar="TAG", nargs="*", help="take these off; without any, those before it"
    )
    fork = add("fork", "make a new session of what happened in one")
    fork.add_argument("id", metavar="ID", help=ID_HELP)
    fork.add_argument("--at", type=_count, metavar="SEQ", help="the last event to take along")
    check = add("check", "look for damage, and mend what can be mended")
    check.add_argument("ids", metavar="ID", nargs="*", help="default: all sessions")
    check.add_argument(
        "--repair", action="store_true", help="mend; what is changed is kept beside it first"
    )
    delete = add("delete", "move sessions to the system's trash")
    delete.add_argument("ids", metavar="ID", nargs="+", help=ID_HELP)
    prune = add("prune", "move the sessions that are past your limits to the system's trash")
    for asking in (delete, prune):
        asking.add_argument("--yes", action="store_true", help="don't ask")


def _add_list_options(
    parser: argparse.ArgumentParser, sort: str, tags: list[str] | str, *, json: bool | str
) -> None:
    parser.add_argument(
        "--sort",
        choices=("activity", "title", "size", "unread"),
        default=sort,
        help="what the order goes by (default: activity)",
    )
    parser.add_argument(
        "--tag", action="append", default=tags, metavar="TAG", help="only those with this tag"
    )
    parser.add_argument("--json", action="store_true", default=json, help="as JSON")


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 16 else 0
    if not number:
        raise argparse.ArgumentTypeError(f"it is a whole number from 1, not {text!r}")
    return number
