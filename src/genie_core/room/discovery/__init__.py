"""Announce rooms on the local network, and find them."""
