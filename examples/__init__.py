"""Programs that show mnemic at work."""
