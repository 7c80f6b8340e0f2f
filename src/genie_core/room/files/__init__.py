"""The files of a room on this machine: sent, fetched, tried again, offered to a new host."""
