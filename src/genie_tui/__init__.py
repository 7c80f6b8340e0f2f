"""The terminal application: screens, widgets, commands and the command line."""
