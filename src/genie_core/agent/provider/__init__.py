"""Ready-made agents on vendors' SDKs. Only the packages below import an SDK."""
