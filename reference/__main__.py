"""`python -m reference [--check]`."""

from __future__ import annotations

import sys

from reference import outdated, write

if sys.argv[1:] not in ([], ["--check"]):
    sys.exit("usage: python -m reference [--check]")
names = outdated() if sys.argv[1:] else write()
for name in names:
    print(f"docs/reference/{name} {'is out of date: run `make reference`' if sys.argv[1:] else 'written'}")
sys.exit(1 if sys.argv[1:] and names else 0)
