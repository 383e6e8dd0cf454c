"""The quarantine: files are moved instead of deleted, and are restored or purged later."""
