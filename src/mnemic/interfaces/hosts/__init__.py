"""`mnemic install HOST`: what a coding agent's host must be told so that it has memory, and the way back."""

from mnemic.interfaces.hosts.install import HOSTS, PLUGIN, Place, install, uninstall

__all__ = ["HOSTS", "PLUGIN", "Place", "install", "uninstall"]
