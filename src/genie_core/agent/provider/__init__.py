"""Ready-made agents on vendors' SDKs. Only what is below here imports one."""
