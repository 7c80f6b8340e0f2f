"""Whoever is told what happens at a seat."""

import logging

from genie_core.privacy.redaction import mask_known
from genie_core.room.seat import Listener, Severity

logger = logging.getLogger(__name__)


class Audience:
    """The listener of one seat, in whose place there may be another one from any moment on.

    Those who work for the seat keep the audience, and ask it for its `listener` each time.
    """

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def inform(self, text: str) -> None:
        """Tell the person, and nobody else, what they may want to know now."""
        self.listener.on_notice(Severity.INFO, text)

    def warn(self, text: str) -> None:
        """Tell the person, and nobody else, that something is wrong."""
        logger.warning("%s", text)
        self.listener.on_notice(Severity.WARNING, mask_known(text))
