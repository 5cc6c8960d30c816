"""``python -m sfa``."""

from sfa.cli import main

main()
