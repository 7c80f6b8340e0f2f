"""Files on disk: attached files, stored under the SHA-256 of their content."""
