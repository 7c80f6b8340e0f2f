"""Rooms in NATS JetStream: logs in streams, documents and leases in key-value buckets, files."""
