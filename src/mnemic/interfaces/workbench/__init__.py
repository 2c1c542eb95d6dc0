"""The workbench: three files that a browser loads, and REST. Nothing is built, and nothing is asked of another host."""
