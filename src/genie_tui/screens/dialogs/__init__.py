"""Dialogs that stand above a screen."""
