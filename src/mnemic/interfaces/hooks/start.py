"""What a host runs at every event: `python -I -S …/start.py [--home H] [--namespace N] EVENT`.

Without what `site` does, Python starts in two thirds of the time; this finds the package by its own place instead. Short, for
a file that is run is compiled every time, and what it imports is not.
"""

import os
import sys

sys.path.append(os.sep.join(os.path.abspath(__file__).split(os.sep)[:-4]))

from mnemic.interfaces.hooks.client import main  # noqa: E402

main(sys.argv[1:])
