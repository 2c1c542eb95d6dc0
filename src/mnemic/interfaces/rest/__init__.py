"""REST, the workbench and MCP over HTTP: `mnemic serve`."""

from mnemic.interfaces.rest.serve import serve

__all__ = ["serve"]
