"""What a person chose for their assistant. Importing this module loads no vendor SDK."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

DEFAULT_TEMPLATE: Final = "general_assist"


@dataclass(frozen=True, slots=True)
class AssistantConfig:
    """The settings that `genie_core.assistant.build.build_assistant` turns into factories.

    `model` is a pydantic-ai model string; None selects the offline helper. `template` names a
    prompt under `reasoner/`. `workspace` is the one folder that the file tools may read; without
    it there are no file tools. `prompts_dir` is the person's own folder of prompts, with
    `reasoner/` and `agent/` below it; it may be absent.
    """

    model: str | None = None
    template: str = DEFAULT_TEMPLATE
    workspace: Path | None = None
    prompts_dir: Path | None = None
