from tests.genie_tui.screens.conftest import seat as seat
