"""Searching and summarising chats."""
