"""From a model's name in the settings to something that either library can ask."""
