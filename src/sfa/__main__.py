"""``python -m sfa``."""

from sfa.cli import main

if __name__ == "__main__":
    main()
