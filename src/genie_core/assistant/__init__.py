"""The ready-made reasoner and agent: prompts, tools, model choice and the offline helper."""

from genie_core.runtime.extras import require

require("room", "msgspec")
