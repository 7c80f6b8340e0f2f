"""Dialogs above a screen."""
