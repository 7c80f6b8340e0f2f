"""A model in whose place another one can be put while it is in use."""

from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel


class SwitchModel(WrapperModel):
    """Asks the model that is chosen now. A switch counts from the next request on."""

    def switch(self, model: Model) -> Model:
        """Put another model in place; returns the one that was there before."""
        before, self.wrapped = self.wrapped, model
        return before
