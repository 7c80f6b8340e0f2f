"""Running a program in the workspace folder."""

import os
import re
import shlex
from dataclasses import dataclass, field
from typing import Final

from genie_core.assistant.config import ToolLimits
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace
from genie_core.assistant.tools.output import cannot
from genie_core.assistant.tools.shell.run import Outcome, run_to_end
from genie_core.runtime.progress import doing
from genie_core.storage.atomic import reason

SHELL: Final = "/bin/sh"
MAX_COMMAND_CHARS: Final = 20_000

_OPERATORS: Final = "|&;<>"


@dataclass(frozen=True)
class Commands:
    """The tool over one workspace, where programs start; they can reach all that its owner can."""

    workspace: Workspace
    limits: ToolLimits = field(default_factory=ToolLimits)

    async def run_command(
        self,
        command: str,
        folder: str = "",
        shell: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
        seconds: float | None = None,
    ) -> str:
        """Run a program in the workspace and return its exit code and what it printed.

        It gets no input, and nothing that it started goes on running afterwards.

        Args:
            command: The program with its arguments, for example "pytest -q tests". Quote what
                contains spaces. No pipes, redirections, wildcards or variables: no shell reads it.
            folder: The folder to run it in, relative to the workspace. Empty for the workspace.
            shell: Have a shell read the command, with pipes and all. Not everybody allows that.
            seconds: End it after so many seconds. Empty for the longest time that is allowed.

        """
        longest = self.limits.command_seconds
        allowed = longest if seconds is None or seconds <= 0 else min(seconds, longest)
        try:
            words = self._words(command, shell=shell)
            place = self.workspace.resolve(folder)
            with self.workspace.folder(place) as opened:
                outcome = await run_to_end(words, opened, allowed, self.limits.command_bytes)
        except AccessRefused as refusal:
            return cannot(str(refusal))
        except NotADirectoryError:
            return cannot(f"{folder!r} is not a folder")
        except OSError as error:
            return cannot(f"the system cannot start it: {reason(error)}")
        return _told(words[0], outcome, allowed)

    def _words(self, command: str, *, shell: bool) -> list[str]:
        """The program and its arguments. Raises `AccessRefused`."""
        if len(command) > MAX_COMMAND_CHARS:
            raise AccessRefused(f"the command has more than {MAX_COMMAND_CHARS:,} characters")
        try:
            if b"\0" in os.fsencode(command):
                raise AccessRefused("a command cannot contain a null character")
            words = [SHELL, "-c", command] if shell else shlex.split(command)
        except UnicodeEncodeError:
            raise AccessRefused("the command contains half a character") from None
        except ValueError as error:
            raise AccessRefused(f"the command can't be read: {str(error).lower()}") from None
        if not command.strip() or not words:
            raise AccessRefused("there is no command to run")
        if shell and not self.limits.shell:
            raise AccessRefused(
                "no shell is allowed here (the setting for it is shell under tool_limits); run one "
                "program at a time"
            )
        if not shell and (operator := _operator(command)):
            raise AccessRefused(
                f"{operator!r} is for shells, and no shell reads the command; put it in quotes if "
                "it is part of an argument, or run one program at a time"
            )
        return words


def _operator(command: str) -> str:
    """What in a command only a shell would understand, as far as it is not in quotes."""
    lexer = shlex.shlex(re.sub(r"\\.", "__", command), punctuation_chars=_OPERATORS)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return next((token for token in lexer if not token.strip(_OPERATORS)), "")
    except ValueError:  # its quotes can't be told like this; those of the real reading could
        return ""


def _told(program: str, outcome: Outcome, allowed: float) -> str:
    if outcome.error:
        return cannot(f"{program!r} cannot be started: {outcome.error}")
    took = f"{outcome.seconds:.1f} seconds"
    if outcome.out_of_time:
        told = f"It was ended after {allowed:g} seconds, which is as long as it may take."
        doing("note", f"{program} was ended after {allowed:g} seconds")
    elif outcome.signal:
        told = f"It was ended by {outcome.signal} after {took}."
    elif outcome.code is None:
        told = f"It went away after {took}, nobody knows how."
    else:
        told = f"It ended with exit code {outcome.code} after {took}."
    if outcome.left:
        told += f" It left {outcome.left} running in the background, which were ended too."
    if trouble := outcome.output.trouble:
        doing("note", f"{program} printed {trouble}")
    return f"{told}\n{outcome.output.told()}"
