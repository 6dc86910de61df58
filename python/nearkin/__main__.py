"""`python -m nearkin`: the command line."""

from __future__ import annotations

from nearkin.cli import main

main()
