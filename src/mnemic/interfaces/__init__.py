"""The ways in from outside: each turns a request into one call on `Memory` and shows the answer."""
