"""The composer: editor, completion, and attachments of the next message."""
