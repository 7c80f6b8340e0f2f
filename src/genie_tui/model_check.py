"""`genie-tui doctor --model`: ask the configured models whether they can do their work."""

import asyncio
import logging
import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, TextIO

from genie_core.assistant.check import check_config
from genie_core.assistant.secrets import OwnSecrets
from genie_core.errors import GenieError
from genie_tui.locations import Locations
from genie_tui.output import safe_line
from genie_tui.settings import Settings, assistant_config, default_name

if TYPE_CHECKING:
    from genie_core.assistant.models.probe import ProbeResult, Subject


def check_models(
    settings: Settings, locations: Locations, env: Mapping[str, str], out: TextIO
) -> int:
    """Ask each configured model and print what was found; returns 1 if one can't do its work.

    Uses the person's stored secrets, and `env` for what is not stored.
    """
    try:
        person = settings.name or default_name()
        keys = {**env, **OwnSecrets(person, locations.secrets, env=env).get_secrets(person)}
        config = assistant_config(settings, locations)
        check_config(config, keys)
    except GenieError as error:
        _say(out, "BAD", "assistant", str(error))
        return 1
    os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
    from genie_core.assistant.models.probe import subjects_of

    subjects = subjects_of(config)
    if not subjects:
        _say(out, "ok ", "model", "none is set: the offline helper answers, and nothing was asked")
        return 0
    names = " and ".join(dict.fromkeys(subject.choice.name for subject in subjects))
    _say(out, "...", "model", f"asking {names}, with a few small requests each")
    out.flush()
    logging.getLogger().addHandler(logging.NullHandler())  # what SDKs log is in what they raise
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the same goes for what they warn of
        findings = asyncio.run(_examine(subjects, keys))
    for finding in findings:
        said = finding.trouble or _abilities(finding)
        _say(out, "BAD" if finding.trouble else "ok ", "model", f"{_who(finding.subject)}: {said}")
        _say(out, "   ", "", _key(finding.subject, keys, env))
    return 1 if any(finding.trouble for finding in findings) else 0


async def _examine(subjects: list["Subject"], keys: Mapping[str, str]) -> list["ProbeResult"]:
    from genie_core.assistant.models.probe import examine

    return list(await asyncio.gather(*(examine(subject, keys) for subject in subjects)))


def _who(subject: "Subject") -> str:
    runtime = f", by {subject.runtime}" if subject.runtime != "pydantic-ai" else ""
    return f"{subject.choice.name} ({', '.join(subject.users)}{runtime})"


def _abilities(finding: "ProbeResult") -> str:
    said = []
    if finding.latency is not None:
        said.append(f"answered in {finding.latency:.1f} s")
    if finding.tools:
        said.append("calls tools")
    if finding.structured is not None:
        said.append(f"gives decisions {finding.structured}")
    return ", ".join(said)


def _key(subject: "Subject", keys: Mapping[str, str], env: Mapping[str, str]) -> str:
    """Tell which key is used and where it is from; never what it is."""
    from genie_core.assistant.models.credentials import key_of

    at = f", at {subject.choice.base_url}" if subject.choice.base_url else ""
    name = key_of(subject.choice, keys)
    if not name:
        named = "; api_key_env names one to send there" if at else ""
        return f"without a key{at}{named}"
    origin = "the environment" if env.get(name) == keys[name] else "the stored secrets"
    return f"with the key {name} from {origin}{at}"


def _say(out: TextIO, mark: str, what: str, text: str) -> None:
    out.write(f"{mark}  {what:<10} {safe_line(text)}\n")
