"""Pure text work: values in, values out, no I/O and no clock.

Each module is one noun and can be read alone: import it by name (`from mnemic.text import tokens`).
"""
