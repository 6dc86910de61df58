"""Take screenshots of a report: docs/img/report.png and docs/img/report-review.png.

    python tools/shoot_report.py

The licences of `samples/` are deduplicated with a report, which Chromium opens. Needs `nearkin[report]`, playwright and
Pillow (all are in the `dev` dependency group) and Debian's chromium.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "img"
JUDGED = "yynyyuynyyyynyy"

sys.path[:0] = [str(ROOT / "tests" / "service"), str(ROOT / "tests" / "report"), str(Path(__file__).parent)]


def main() -> None:
    """Deduplicate, open the report, judge pairs, and take the screenshots."""
    from browsing import chromium
    from opened import opened

    from shoot_page import take_picture

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "licences"
        corpus = ROOT / "samples" / "licences.jsonl.gz"
        command = ["dedup", str(corpus), "--out", str(out), "--id-column", "id", "--report", "--quiet"]
        subprocess.run([sys.executable, "-m", "nearkin", *command], check=True)
        with chromium() as browser:
            with opened(browser, out / "report.html", width=1200, height=880, color_scheme="light") as visit:
                visit.page.wait_for_timeout(1000)
                take_picture(visit.page, IMAGES / "report.png")
            with opened(browser, out / "report.html", width=1200, height=1000, color_scheme="light") as visit:
                visit.page.goto(visit.url + "#review")
                visit.page.wait_for_timeout(1000)
                for key in JUDGED:
                    visit.page.keyboard.press(key)
                    visit.page.wait_for_timeout(150)
                visit.page.wait_for_timeout(1000)
                take_picture(visit.page, IMAGES / "report-review.png")


if __name__ == "__main__":
    main()
