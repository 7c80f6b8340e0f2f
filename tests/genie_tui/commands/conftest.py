from tests.genie_tui.screens.conftest import joined as joined
