"""`genie-tui replay --reasoner`: another reasoner's decisions about a saved room."""

import argparse
import asyncio
import logging
import os
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from genie_core.assistant.config import AssistantConfig, ModelChoice
from genie_core.assistant.models.chosen_models import choice_in, with_main_model
from genie_core.assistant.prompts import load_prompt, load_prompt_at
from genie_core.assistant.secrets import OwnSecrets
from genie_core.assistant.what_if.report import WhatIfReport
from genie_core.errors import GenieError
from genie_core.sessions.labels import Labels
from genie_core.sessions.replay.player import open_recording
from genie_core.sessions.session import SavedSession
from genie_core.settings.load import SettingsSource
from genie_core.settings.locations import Locations, folder_at
from genie_core.settings.model import Settings, assistant_config, default_name
from genie_eval.cases import RecordedDecisions
from genie_eval.report_files import save
from genie_eval.report_text import lines
from genie_tui.cli.output import safe_line
from genie_tui.cli.replay import find_id

if TYPE_CHECKING:
    from genie_eval.run import WhatIf

INTERRUPTED: Final = 130
STOPPED: Final = "it was interrupted"


class NothingDecided(GenieError):
    """A room in which no reasoner has decided anything, or not there."""

    template = "no reasoner has decided about anything in this part of {title!r}"
    title: str


@dataclass(frozen=True, slots=True)
class Past:
    """The recorded room to ask about. `wrong` are the decisions that are labelled as wrong."""

    id: str
    title: str
    folder: Path
    recollection: RecordedDecisions
    wrong: Mapping[int, str]


def what_if(
    options: argparse.Namespace,
    source: SettingsSource,
    locations: Locations,
    env: Mapping[str, str],
    out: TextIO,
    problems: TextIO | None = None,
) -> int:
    """Ask, print the report and keep it beside the room; returns the exit code.

    The model is the one that decides in a live room, unless the command line names another. Ctrl+C
    ends the asking; the results until then are printed and kept like the rest.

    Raises:
        StorageError: there is no such room, several are meant, or it can't be read or written.
        AssistantError: the template or the model can't be used.
        NothingDecided: there is nothing to compare with.
    """
    problems = problems or sys.stderr
    settings = source.read().settings
    id_ = find_id(locations.sessions, options.id)
    past = read_past(locations.sessions, id_, problems, options.first, options.last)
    if not past.recollection.cases:
        raise NothingDecided(past.title)
    config, prompt = configured(options, settings, locations, past)
    person = settings.name or default_name()
    secrets = OwnSecrets(person, locations.secrets, env=env)
    hush()
    from genie_core.assistant.build import build_reasoner
    from genie_eval.run import WhatIf

    factory, model = build_reasoner(config, prompt, secrets, person)
    progress = Progress(problems)
    asked = WhatIfReport(
        session=past.id,
        title=past.title,
        template=name_of(options.reasoner),
        model=model,
        at=time.time(),
    )
    run = WhatIf(factory, past.recollection, past.wrong, progress.show)
    progress.begin(run, model)
    began = time.monotonic()
    run_to_end(run)
    progress.end()
    report = run.report(asked, time.monotonic() - began)
    path = save(report, past.folder)
    out.writelines(f"{line}\n" for line in lines(report))
    out.write(f"Kept as {safe_line(str(path))}\n")
    if run.stopped == STOPPED:
        return INTERRUPTED
    return 1 if run.stopped or not report.summary.decided else 0


def read_past(
    sessions: Path, id_: str, problems: TextIO, first: int = 1, last: int | None = None
) -> Past:
    """Read the decisions of a room from the event `first` to `last`, and its labels. Blocks."""
    recording = open_recording(sessions, id_)
    recollection = RecordedDecisions(recording.place, first, last)
    try:
        for event in recording.log.events(0, None):
            recollection.take(event)
    finally:
        recording.close()
    folder = sessions / recording.id
    labels = Labels.read(folder)
    problems.writelines(
        f"genie-tui: {safe_line(problem)}\n" for problem in (*recording.problems, *labels.problems)
    )
    wrong = {seq: label.decision for seq, label in labels.wrong.items()}
    return Past(recording.id, recording.title, folder, recollection, wrong)


def configured(
    options: argparse.Namespace, settings: Settings, locations: Locations, past: Past
) -> tuple[AssistantConfig, str]:
    """Return the live reasoner's settings with the changes and the prompt to try."""
    config = replace(assistant_config(settings, locations), template=options.reasoner)
    if config.workspace is None and (
        workspace := SavedSession.load(past.folder).metadata.workspace
    ):
        config = replace(config, workspace=Path(workspace))
    if model := getattr(options, "model", None):
        choice = choice_in(config, model)
        config = with_main_model(config, choice)
        if not getattr(options, "reasoner_model", None):
            config = replace(config, reasoner=ModelChoice())
    if _is_path(options.reasoner):
        return config, load_prompt_at("reasoner", folder_at(options.reasoner))
    return config, load_prompt("reasoner", options.reasoner, config.prompts_dir)


def _is_path(template: str) -> bool:
    return "/" in template or os.sep in template or template.endswith(".md")


def name_of(template: str) -> str:
    """Return a short name for a prompt that may be a path."""
    return Path(template).stem if _is_path(template) else template


def hush() -> None:
    """Keep SDKs from writing on the terminal: their logs are in their exceptions."""
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    logging.getLogger().addHandler(logging.NullHandler())


def run_to_end(run: "WhatIf") -> None:
    """Ask about every message, or until ctrl+c, which `stopped` then says."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the same goes for their warnings
            asyncio.run(run.run())
    except KeyboardInterrupt:
        run.stopped = STOPPED


class Progress:
    """One line of progress, rewritten in place on a terminal."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._moves = out.isatty()

    def begin(self, run: "WhatIf", model: str, where: str = "") -> None:
        """Print the question; `where` names the session if there are several."""
        where = f" of {safe_line(where)}" if where else ""
        messages = "1 message" if run.total == 1 else f"{run.total:,} messages"
        hint = "; ctrl+c ends it with what there is" if self._moves else ""
        self._out.write(f"asking {safe_line(model)} about {messages}{where}{hint}\n")
        self._out.flush()

    def show(self, run: "WhatIf") -> None:
        """Show how far it is."""
        if self._moves:
            differ = sum(each.differs for each in run.outcomes)
            line = f"{len(run.outcomes):,} of {run.total:,} decided, {differ:,} differ"
            self._out.write(f"\r\x1b[K{line}")
            self._out.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._moves:
            self._out.write("\r\x1b[K")
            self._out.flush()
