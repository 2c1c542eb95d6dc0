"""The values that travel between the parts: frozen, storage-free, compared by content."""
