"""Sessions on disk: each a folder with a room's log, its metadata and the attached files."""

from genie_core.runtime.extras import require

require("room", "msgspec")
