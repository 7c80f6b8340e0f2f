"""Keys, certificates, invites and signatures."""
