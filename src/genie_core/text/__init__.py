"""Text for people: made safe to show, and numbers and times in words."""
