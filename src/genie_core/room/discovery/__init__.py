"""Announcing rooms on the local network and finding them."""
