"""`mnemic hook EVENT`: what a coding agent's host runs at the turns of a session. JSON in, JSON out, never in the way."""
