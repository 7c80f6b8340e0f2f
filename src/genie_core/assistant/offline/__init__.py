"""The offline helper: an assistant that works without any language model."""
