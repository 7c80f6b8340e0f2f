"""The terminal application: lobby, room screen and the wiring between them and `genie_core`."""
