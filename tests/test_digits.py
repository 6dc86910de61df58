"""The example on real images."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "digits.py"


def test_near_images_name_the_digit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Five neighbours recognise more than 97 of 100 handwritten digits; exact neighbours reach 98."""
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    shown = re.search(r"five neighbours: ([0-9.]+) of 898", capsys.readouterr().out)
    assert shown is not None
    assert float(shown[1]) > 0.97
