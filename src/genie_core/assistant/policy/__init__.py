"""Deciding which tool calls run, which are denied and which need an approval."""
