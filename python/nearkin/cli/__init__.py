"""The command `nearkin`: a door, which reads options, brings batches in and prints answers."""

from __future__ import annotations

from nearkin.cli.app import main

__all__ = ["main"]
