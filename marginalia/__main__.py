"""``python -m marginalia``: the same as the command ``marginalia``."""

from __future__ import annotations

import sys

from marginalia.cli import main

if __name__ == "__main__":
    sys.exit(main())
