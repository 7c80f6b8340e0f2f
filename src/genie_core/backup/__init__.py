"""A backup of a person's sessions, keys and settings, and its restoring."""

from genie_core.runtime.extras import require

require("room", "msgspec")
