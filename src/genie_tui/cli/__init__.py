"""The command line: `genie-tui COMMAND`."""
