"""The settings of one person and the folders of one installation."""

from genie_core.runtime.extras import require

require("room", "msgspec")
