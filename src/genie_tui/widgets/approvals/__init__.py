"""The tool calls that wait for a person's answer: panel, card, queue and key guard."""
