"""The host's room: admission, events, members, files, and the server that serves them."""
