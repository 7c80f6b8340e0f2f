"""The tool that runs programs in the workspace folder."""

import os
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from genie_core.assistant.config import Sandbox, ToolLimits
from genie_core.assistant.policy.commands import analyse
from genie_core.assistant.policy.named_files import find_named
from genie_core.assistant.tools.files.walk import some
from genie_core.assistant.tools.files.workspace import AccessRefused, Workspace
from genie_core.assistant.tools.output import cannot
from genie_core.assistant.tools.shell.jobs import JOB_SECONDS, Job, Jobs
from genie_core.assistant.tools.shell.prompts import missed_input
from genie_core.assistant.tools.shell.run import (
    SUPERVISOR,
    CommandRun,
    Outcome,
    environment,
    run_to_end,
)
from genie_core.assistant.tools.shell.sandbox import (
    SandboxUnavailable,
    find_denied,
    is_confined,
    sandbox_command,
)
from genie_core.runtime.progress import doing
from genie_core.runtime.threads import off_loop
from genie_core.storage.atomic import reason

SHELL: Final = "/bin/sh"
MAX_COMMAND_CHARS: Final = 20_000

NO_INPUT: Final = (
    "Commands get no input: use an option that answers, such as --yes, or ask the owner to run it."
)

_OPERATORS: Final = "|&;<>"


@dataclass(frozen=True)
class Commands:
    """The command tool. Programs start in the workspace, in a sandbox where the system has one.

    Without a sandbox, they have all of the owner's access rights.
    """

    workspace: Workspace
    limits: ToolLimits = field(default_factory=ToolLimits)
    sandbox: Sandbox = field(default_factory=Sandbox)
    jobs: Jobs = field(default_factory=Jobs)

    async def run_command(
        self,
        command: str,
        folder: str = "",
        shell: bool = False,  # noqa: FBT001, FBT002 — a model passes tool arguments by name
        seconds: float | None = None,
        background: bool = False,  # noqa: FBT001, FBT002
    ) -> str:
        """Run a program in the workspace and return its exit code and output.

        It gets no input. Processes that it leaves are ended.

        Args:
            command: Such as "pytest -q tests". No shell reads it, so quote arguments with spaces,
                and use no pipes, redirections, wildcards or variables.
            folder: Where to run it; empty for the workspace.
            shell: Run it in a shell, with pipes and redirections, unless the owner disabled that.
            seconds: End it after so many seconds; empty for the longest permitted time.
            background: Return at once with the number of a job, for `read_job` and `stop_job`. For
                servers and the like; it ends with the session.
        """
        if background:
            return await self._in_background(command, folder, shell=shell, seconds=seconds)
        longest = self.limits.command_seconds
        # a model may pass "nan", which no comparison holds for
        allowed = seconds if seconds is not None and 0 < seconds < longest else longest
        try:
            words = self._words(command, shell=shell)
            outcome, box = await self._outcome(words, folder, allowed)
        except AccessRefused as refusal:
            return cannot(str(refusal))
        notes = self._notes(box) if outcome.code != 0 else ""
        return _report(words[0], outcome, allowed, notes)

    async def read_job(self, job: int = 0) -> str:
        """Return the output of a command in the background since it was last read.

        Args:
            job: Its number; 0 lists all jobs.
        """
        if not job:
            return _listed(self.jobs.all)
        try:
            found = self.jobs.find(job)
        except AccessRefused as refusal:
            return cannot(str(refusal))
        return _job_report(found)

    async def stop_job(self, job: int) -> str:
        """End a command in the background and all processes that it started.

        Args:
            job: Its number.
        """
        try:
            found = self.jobs.find(job)
        except AccessRefused as refusal:
            return cannot(str(refusal))
        await found.stop()
        return _job_report(found)

    async def _in_background(
        self, command: str, folder: str, *, shell: bool, seconds: float | None
    ) -> str:
        allowed = min(seconds, JOB_SECONDS) if seconds and seconds > 0 else JOB_SECONDS
        try:
            words = self._words(command, shell=shell)
            _ = self.workspace.resolve(folder)

            async def work(listen: Callable[[bytes], None]) -> Outcome:
                return (await self._outcome(words, folder, allowed, listen, patient=True))[0]

            job = await self.jobs.start(command, work, self.limits.command_bytes)
        except AccessRefused as refusal:
            return cannot(str(refusal))
        return _job_report(job)

    async def follow(
        self,
        command: str,
        listen: Callable[[bytes], None],
        folder: str = "",
        *,
        shell: bool = False,
    ) -> Outcome:
        """Run a program as `run_command` does, and pass its output to `listen`, from a thread.

        Raises `AccessRefused` with the reason if it can't be run.
        """
        words, seconds = self._words(command, shell=shell), self.limits.command_seconds
        outcome, _ = await self._outcome(words, folder, seconds, listen)
        if outcome.error:
            raise AccessRefused(f"{words[0]!r} cannot be started: {outcome.error}")
        return outcome

    async def _outcome(
        self,
        words: Sequence[str],
        folder: str,
        seconds: float,
        listen: Callable[[bytes], None] | None = None,
        *,
        patient: bool = False,
    ) -> tuple[Outcome, "_Box"]:
        """Run a program; returns its outcome and its sandbox. Raises `AccessRefused`."""
        place = self.workspace.resolve(folder)
        try:
            with self.workspace.folder(place) as opened:
                box = await off_loop(partial(self._box, words, place), "genie-sandbox")
                where, env = place if box.wrapper else opened, environment(self.sandbox.env)
                limit = self.limits.command_bytes
                outcome = await run_to_end(
                    CommandRun(words, where, seconds, limit, env, box.wrapper, listen, patient)
                )
        except SandboxUnavailable as error:
            raise AccessRefused(
                f"commands run only in a sandbox here (setting: mode in [sandbox]), but {error}"
            ) from error
        except NotADirectoryError:
            raise AccessRefused(f"{folder!r} is not a folder") from None
        except OSError as error:
            raise AccessRefused(f"the system cannot start the command: {reason(error)}") from error
        return outcome, box

    def _box(self, words: Sequence[str], place: Path) -> "_Box":
        if not is_confined(self.sandbox):
            return _Box(sandbox_command(self.sandbox, place))
        named = find_named(self.workspace, analyse(shlex.join(words)), self.workspace.key(place))
        # private files that it names are there: the card has shown them
        denied = find_denied(self.workspace, self.sandbox, [*named.reads, *named.writes])
        root = self.workspace.root
        wrapper = sandbox_command(self.sandbox, place, root, [SUPERVISOR], denied)
        return _Box(wrapper, tuple(map(self.workspace.name, denied.private)))

    def _notes(self, box: "_Box") -> str:
        """Name the access that a failed command did not get."""
        offline = " It ran in a sandbox without network." if not self.sandbox.network else ""
        private = f" Empty there as private: {some([*box.private])}." if box.private else ""
        return offline + private if box.wrapper else ""

    def _words(self, command: str, *, shell: bool) -> list[str]:
        """Split a command into program and arguments. Raises `AccessRefused`."""
        if len(command) > MAX_COMMAND_CHARS:
            raise AccessRefused(f"the command has more than {MAX_COMMAND_CHARS:,} characters")
        try:
            if b"\0" in os.fsencode(command):
                raise AccessRefused("a command cannot contain a null character")
            words = [SHELL, "-c", command] if shell else shlex.split(command)
        except UnicodeEncodeError:
            raise AccessRefused("the command contains an incomplete character") from None
        except ValueError as error:
            raise AccessRefused(f"the command can't be parsed: {str(error).lower()}") from None
        if not command.strip() or not words:
            raise AccessRefused("the command is empty")
        if shell and not self.limits.shell:
            raise AccessRefused(
                "shell commands are not allowed here (setting: shell in [tool_limits]); run one "
                "program at a time"
            )
        if not shell and (operator := _operator(command)):
            raise AccessRefused(
                f"{operator!r} is a shell operator, and no shell reads the command; quote it if it "
                "is part of an argument, or run one program at a time"
            )
        return words


class _Box(NamedTuple):
    """The words that start a sandbox, none without one, and the files that are empty in it."""

    wrapper: Sequence[str] = ()
    private: tuple[str, ...] = ()


def _operator(command: str) -> str:
    """Return the first unquoted shell operator in a command, or an empty string."""
    lexer = shlex.shlex(re.sub(r"\\.", "__", command), punctuation_chars=_OPERATORS)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return next((token for token in lexer if not token.strip(_OPERATORS)), "")
    except ValueError:  # quotes that this lexer can't match, but shlex.split could
        return ""


def _listed(jobs: Sequence[Job]) -> str:
    lines = [f"- job {job.number} {job.state}: {job.command}" for job in jobs]
    return "\n".join(lines) or "There are no jobs."


def _job_report(job: Job) -> str:
    text = f"Job {job.number} {job.state}."
    if job.is_running and (asked := job.question):
        text += f" {NO_INPUT} It asks: {asked!r}."
        doing("note", f"job {job.number} asks for input, which commands don't get: {asked}")
    return f"{text}\n{job.take().text()}"


def _report(program: str, outcome: Outcome, allowed: float, notes: str) -> str:
    if outcome.error:
        return cannot(f"{program!r} cannot be started: {outcome.error}")
    took, asked = f"{outcome.seconds:.1f} seconds", missed_input(outcome.output.end)
    if outcome.waits:
        text = f"The command was ended after {took}, because it waited for input."
    elif outcome.out_of_time:
        text = f"The command was ended after {allowed:g} seconds, its time limit."
        doing("note", f"{program} was ended after {allowed:g} seconds")
    elif outcome.signal:
        text = f"The command was ended by {outcome.signal} after {took}."
    elif outcome.code is None:
        text = f"The command ended after {took}; its exit code is unknown."
    else:
        text = f"The command ended with exit code {outcome.code} after {took}."
    if outcome.left:
        text += f" Processes left in the background and ended: {outcome.left}."
    if asked and (outcome.waits or outcome.out_of_time or outcome.code != 0):
        text += f" {NO_INPUT} It asked: {asked!r}."
        doing("note", f"{program} asked for input, which commands don't get: {asked}")
    text += notes
    if problem := outcome.output.problem:
        doing("note", f"{program} printed {problem}")
    return f"{text}\n{outcome.output.text()}"
