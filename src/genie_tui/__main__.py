"""`python -m genie_tui` is `genie-tui`."""

import sys

from genie_tui.cli import main

sys.exit(main())
