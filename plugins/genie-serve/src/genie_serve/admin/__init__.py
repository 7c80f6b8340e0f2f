"""Administering a running service: requests, the socket and the network, and the client's side."""
