"""`mnemic install HOST`: what a coding agent's host must be told so that it has memory, and the way back."""

from mnemic.interfaces.hosts.install import HOSTS, PLUGIN, Place, install, uninstall
from mnemic.interfaces.hosts.pieces import START

__all__ = ["HOSTS", "PLUGIN", "START", "Place", "install", "uninstall"]
