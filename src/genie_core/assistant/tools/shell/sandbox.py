"""Confining a program to the workspace: with bubblewrap on Linux, with seatbelt on macOS.

A confined program writes only the workspace and the folders that the settings name. It reads the
rest of the file system, but not homes, temporary files, sockets of services and genie-tui's own
folders, which appear empty. Folders of PATH, the running Python and toolchains below them stay
readable. Without `network` it reaches no address, also not on this machine.
On Linux it sees no other processes.

On macOS the same is asked of `sandbox-exec`, with a temporary folder instead of an empty `/tmp`.
Only the text of that profile is tested.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from genie_core.assistant.config import Sandbox
from genie_core.assistant.tools.files.guarded import below, find_guarded, fixed_folders
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace
from genie_core.assistant.tools.shell import supervisor
from genie_core.storage.atomic import reason
from genie_core.text.safe import visible_line

PROBE_SECONDS: Final = 10.0

MOST_DENIED: Final = 1_000
"""Files and folders in a workspace that a sandbox covers."""

View: TypeAlias = Literal["hidden", "read", "write", "empty", "closed"]
"""How a place is seen; "empty" is a file without content, and "closed" one that can't be opened."""

_HIDDEN: Final = (
    "/home", "/root", "/Users", "/run", "/var/run", "/tmp", "/var/tmp", "/var/folders",  # noqa: S108 — not used but hidden
)  # fmt: skip
_TOOLCHAINS: Final = (
    ".pyenv", ".nvm", ".rustup", ".local/share/uv/python", ".local/share/uv/tools",
    ".local/share/pipx/venvs",
)  # fmt: skip
"""Folders in the home to which programs on PATH and in the workspace refer."""

_PLACES: Final = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"
"""Where the sandbox's own program may be. PATH may lead into a workspace."""

_KERNEL: Final = ("/proc/sys", "/proc/sysrq-trigger")
"""Settings of the whole machine, which its superuser may write, also without capabilities."""

_SUPERVISOR: Final = Path(supervisor.__file__)

_SEATBELT: Final = "/usr/bin/sandbox-exec"


class SandboxUnavailable(Exception):
    """A sandbox is required and there is none; the text is the reason."""


class SandboxBackend(NamedTuple):
    """The sandbox program of this system, "bubblewrap" or "seatbelt", or why there is none."""

    name: str = ""
    reason: str = ""
    program: str = ""


class Denied(NamedTuple):
    """Paths in the workspace whose files a command does not get.

    `unread` can't be opened, `unwritten` not written, and `private` are empty. `fixed` folders can't be
    renamed, as that would lead to those under other paths.
    """

    unread: Sequence[Path] = ()
    unwritten: Sequence[Path] = ()
    private: Sequence[Path] = ()
    fixed: Sequence[Path] = ()


def find_denied(workspace: Workspace, settings: Sandbox, shown: Iterable[Path] = ()) -> Denied:
    """Find the files of a workspace that a confined program does not get.

    Private files that are `shown`, or readable by the settings, it gets. Raises `AccessRefused` if
    the rules deny too many files.
    """
    guarded, visible = find_guarded(workspace), [*shown, *map(_real, settings.readable)]
    unread = [each for each in guarded.unread if not below([each], [_SUPERVISOR])]
    denied = [*unread, *guarded.unwritten]
    if len(denied) > MOST_DENIED:
        raise AccessRefused(
            f"the rules deny more than {MOST_DENIED:,} files in the workspace; use patterns for "
            "whole folders, such as secrets/*"
        )
    private = [each for each in guarded.private if not below(visible, [each])]
    fixed = fixed_folders(workspace, denied)
    return Denied(unread, guarded.unwritten, private[:MOST_DENIED], fixed)


class _Place(NamedTuple):
    view: View
    source: Path


def describe_sandbox(settings: Sandbox) -> str:
    """Describe in one line the sandbox of commands with these settings.

    Quick after the first call of the process, which `build_assistant` makes; that one starts a
    program and waits for it.
    """
    backend, network = _backend(settings), "with network" if settings.network else "no network"
    if backend.name:
        folders = " and ".join(["the workspace", *map(str, settings.writable)])
        return visible_line(f"in a sandbox: writes only {folders}, reads no homes, {network}")
    if settings.mode == "required":
        return f"not at all: a sandbox is required, but {backend.reason}"
    return f"without a sandbox: {backend.reason}"


def is_confined(settings: Sandbox) -> bool:
    """Whether commands run in a sandbox. Blocks like `describe_sandbox`."""
    return bool(_backend(settings).name)


def is_isolated(settings: Sandbox) -> bool:
    """Whether a sandbox keeps commands from the network. Blocks like `describe_sandbox`."""
    return is_confined(settings) and not settings.network


def sandbox_command(
    settings: Sandbox,
    folder: Path | None,
    workspace: Path | None = None,
    shown: Sequence[Path] = (),
    denied: Denied | None = None,
) -> list[str]:
    """Return the words to put before a command; none without a sandbox.

    The program starts in `folder` and may write `workspace`, which is free of links, but for the
    `denied` files. `shown` stays visible. Blocks; the first call starts a program. Raises
    `SandboxUnavailable`.
    """
    backend = _backend(settings)
    if not backend.name:
        if settings.mode == "required":
            raise SandboxUnavailable(backend.reason)
        return []
    places = _places(settings, workspace, shown) | _denied_places(denied or Denied())
    places = {path: places[path] for path in sorted(places, key=_depth)}
    if backend.name == "seatbelt":
        return _seatbelt(backend.program, places, network=settings.network)
    return _bubblewrap(backend.program, places, folder, network=settings.network)


def _backend(settings: Sandbox) -> SandboxBackend:
    if settings.mode == "off":
        return SandboxBackend(reason="it is off (setting: mode in [sandbox])")
    return find_backend()


@cache
def find_backend() -> SandboxBackend:
    """Find the sandbox of this machine, by trying it. Blocks at the first call."""
    if sys.platform == "darwin":
        backend = SandboxBackend("seatbelt", program=_SEATBELT)
        if not os.access(_SEATBELT, os.X_OK):
            return SandboxBackend(reason=f"{_SEATBELT} is missing")
        command = _seatbelt(backend.program, _places(Sandbox(), None, ()), network=False)
    elif sys.platform == "linux":
        program = shutil.which("bwrap", path=_PLACES)
        if program is None:
            return SandboxBackend(
                reason="bubblewrap is not installed; install the package bubblewrap"
            )
        backend = SandboxBackend("bubblewrap", program=program)
        command = _bubblewrap(program, _places(Sandbox(), None, ()), None, network=False)
    else:
        return SandboxBackend(reason="this system has none that genie-tui can use")
    problem = _problem([*command, sys.executable, "-I", "-S", "-c", ""])
    return (
        SandboxBackend(reason=f"{backend.name} does not work here: {problem}")
        if problem
        else backend
    )


def _problem(command: Sequence[str]) -> str:
    try:
        tried = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return f"it took more than {PROBE_SECONDS:g} seconds"
    except OSError as error:
        return reason(error)
    if not tried.returncode:
        return ""
    *_, last = ["", *tried.stderr.strip().splitlines()]
    return visible_line(last[:200]) or f"it ended with {tried.returncode}"


# Visible places


def _places(settings: Sandbox, workspace: Path | None, shown: Sequence[Path]) -> dict[Path, _Place]:
    """Return the visible part of each place; a deeper place counts before those around it.

    A path that a confined program could replace by a link is not followed: the files of a writable
    folder are visible with it.
    """
    written = [] if workspace is None else [workspace]
    for path in sorted(settings.writable, key=_depth):
        if _exists(path) and not _is_within(path, written):
            written.append(_real(path))
    read = [path for path in settings.readable if _exists(path) and not _is_within(path, written)]
    hidden = set(_hidden(settings))
    places = {path: _Place("hidden", path) for path in hidden}
    places |= {_real(path): _Place("read", _real(path)) for path in read}
    places |= {path: _Place("write", path) for path in written}
    places.setdefault(Path("/"), _Place("read", Path("/")))
    for path in sorted((*read, *shown, *_programs()), key=_depth):
        if not _exists(path) or _is_within(path, written):
            continue
        for name in (path, _real(path)):
            if name not in hidden and _view(places, name) == "hidden":
                places[name] = _Place("read", _real(path))
    return {path: places[path] for path in sorted(places, key=_depth)}


def _denied_places(denied: Denied) -> dict[Path, _Place]:
    places = {path: _Place("write", path) for path in denied.fixed}
    places |= {path: _Place("read", path) for path in denied.unwritten}
    places |= {path: _Place("empty", _covers() / "empty") for path in denied.private}
    for path in denied.unread:
        cover = _covers() / ("folder" if path.is_dir() else "file")
        places[path] = _Place("closed", cover)
    return places


@cache
def _covers() -> Path:
    """Return the folder with the covers of denied files, removed when this process ends."""
    folder = Path(_temporary_folder().name).resolve()
    (folder / "folder").mkdir(mode=0)
    for name, mode in (("file", 0), ("empty", 0o444)):
        (folder / name).touch()
        (folder / name).chmod(mode)
    return folder


def _hidden(settings: Sandbox) -> Iterator[Path]:
    folders = [*map(Path, _HIDDEN), *settings.hidden]
    with suppress(RuntimeError):
        folders.append(Path.home())
    with suppress(ImportError, KeyError):  # HOME may name another folder
        import pwd

        folders.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    for folder in folders:
        real = _real(folder)
        if os.access(f"{real}/", os.F_OK) and real != Path("/"):
            yield real


def _programs() -> Iterator[Path]:
    """Yield the places of programs, existing or not."""
    yield from (Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).parent)
    yield Path("/etc/resolv.conf")
    for entry in os.get_exec_path():
        if os.path.isabs(entry):  # noqa: PTH117 — PATH is text
            yield Path(os.path.normpath(entry))
    with suppress(RuntimeError):
        yield from (Path.home() / each for each in _TOOLCHAINS)


def _view(places: dict[Path, _Place], path: Path) -> View:
    return next(places[each].view for each in (path, *path.parents) if each in places)


def _is_within(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path leads through one of these real folders, wherever it leads to."""
    above = [_real(each) for each in path.parents]
    return any(each.is_relative_to(folder) for each in above for folder in folders)


def _exists(path: Path) -> bool:
    """Whether this person can find it. `Path.exists` raises if a folder above is closed to them."""
    return os.access(path, os.F_OK)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _depth(path: Path) -> int:
    return len(path.parts)


# The programs that confine


def _bubblewrap(
    program: str, places: dict[Path, _Place], folder: Path | None, *, network: bool
) -> list[str]:
    command = [
        program, "--die-with-parent", "--new-session", "--unshare-user-try", "--unshare-pid",
        "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
    ]  # fmt: skip
    if not network:
        command.append("--unshare-net")
    if os.geteuid() == 0:  # else it has none, and an installation with setuid refuses the option
        command += ["--cap-drop", "ALL"]
    for path, (view, source) in places.items():
        if view == "hidden":
            command += ["--tmpfs", str(path)]
        else:
            option = "--bind" if view == "write" else "--ro-bind"
            command += [option, str(source), str(path)]
        if path == Path("/"):
            command += ["--dev", "/dev", "--proc", "/proc"]
            if os.geteuid() == 0:  # its files need no capability: core_pattern names a program
                for kernel in _KERNEL:
                    command += ["--ro-bind-try", kernel, kernel]
    if folder is not None:
        command += ["--chdir", str(folder)]
    return [*command, "--"]


_PROFILE: Final = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow ipc-posix-sem)
(allow ipc-posix-shm)
(allow pseudo-tty)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
"""
_WITH_NETWORK: Final = """\
(allow network*)
(allow system-socket)
(allow mach-lookup (global-name "com.apple.SystemConfiguration.configd"))
(allow mach-lookup (global-name "com.apple.trustd.agent"))
"""
_DEVICES: Final = '(allow file-read* file-write* file-ioctl (subpath "/dev"))\n'


def seatbelt_profile(places: dict[Path, _Place], *, network: bool) -> str:
    """Write a profile; among its rules, the last one that matches a file counts."""
    lines = [_PROFILE]
    if network:
        lines.append(_WITH_NETWORK)
    for path, (view, _source) in places.items():
        where = f"(subpath {_quoted(path)})"
        match view:
            case "hidden" | "empty" | "closed":
                lines.append(f"(deny file-read* file-write* {where})\n")
            case "read":
                lines.append(f"(allow file-read* {where})\n(deny file-write* {where})\n")
            case "write":
                lines.append(f"(allow file-read* file-write* {where})\n")
    visible = [path for path, place in places.items() if place.view in ("read", "write")]
    above = {each for path in visible for each in path.parents}
    lines += [
        f"(allow file-read-metadata (literal {_quoted(each)}))\n"
        for each in sorted(above, key=_depth)
    ]
    return "".join([*lines, _DEVICES])


def _seatbelt(program: str, places: dict[Path, _Place], *, network: bool) -> list[str]:
    temporary = _real(Path(_temporary_folder().name)) / "written"
    temporary.mkdir(exist_ok=True)
    profile = seatbelt_profile({**places, temporary: _Place("write", temporary)}, network=network)
    return [program, "-p", profile, "/usr/bin/env", f"TMPDIR={temporary}"]


@cache
def _temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    """A folder for the needs of confined programs, removed when this process ends."""
    return tempfile.TemporaryDirectory(prefix="genie-commands-")


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
