"""Take screenshots of the service's page: docs/img/service-page.png and docs/img/service-page-phone.png.

    python tools/shoot_page.py

A service with the licences of `samples/` is started on a free port and receives requests for two minutes, the width of
the page's charts. Then Chromium opens its page. Needs `nearkin[service]`, playwright and Pillow (both are in the `dev`
dependency group) and Debian's chromium.
"""

from __future__ import annotations

import gzip
import json
import math
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "img"
SECONDS = 125
ASKED = "bsd-zero.LICENSE"

sys.path.insert(0, str(ROOT / "tests" / "service"))


def licences() -> list[dict[str, Any]]:
    """Return the documents of the sample corpus."""
    with gzip.open(ROOT / "samples" / "licences.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def keep_busy(service: Any, rows: list[dict[str, Any]], stop: threading.Event) -> None:
    """Check texts, parts of texts and single words at a varying rate, and add some of them."""
    draw = np.random.default_rng(7)
    begin = time.monotonic()
    while not stop.wait(0.02 + 0.06 * (1 + math.sin((time.monotonic() - begin) / 9))):
        text = rows[draw.integers(len(rows))]["text"]
        kind = draw.choice(["new", "near", "copy"], p=[0.6, 0.3, 0.1])
        if kind == "new":
            words = text.split()
            text = " ".join(draw.permutation(words)) + f" {draw.integers(1 << 30)}"
        elif kind == "near":
            text = text[int(draw.integers(40)) :]
        document = {"text": text}
        if draw.random() < 0.3:
            service.post("/v1/check-and-add", {"id": f"http://site/{draw.integers(1 << 40)}", **document})
        else:
            service.post("/v1/check?k=5", document)


def question(rows: list[dict[str, Any]]) -> str:
    """Return a text that is similar to one of them."""
    text = str(next(row["text"] for row in rows if row["id"] == ASKED))
    for old, new in (
        ("use, copy", "use, study, copy"),
        ("for any purpose", "for every purpose"),
        ("AS IS", "as it is"),
    ):
        text = text.replace(old, new)
    return text


def shoot(visit: Any, target: Path, text: str, *, wide: bool) -> None:
    """Fill in the page and take its screenshot."""
    visit.page.fill("#subject", text)
    visit.wait(".diff ins")
    visit.page.fill("#id", "my-licence")
    visit.page.evaluate("() => {document.activeElement.blur(); scrollTo(0, 0);}")
    if wide:
        visit.page.wait_for_timeout(2500)
    take_picture(visit.page, target)


def take_picture(page: Any, target: Path) -> None:
    """Take a screenshot of the visible part, in 256 colours."""
    from PIL import Image

    page.screenshot(path=target)
    with Image.open(target) as picture:
        picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE).save(
            target, optimize=True
        )
    print(target, target.stat().st_size)


def main() -> None:
    """Fill a store, serve it, and take the screenshots."""
    from browsing import chromium, visiting
    from live import serving

    import nearkin as nk

    rows, stop = licences(), threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "licences.store"
        with nk.Store.create(path, threshold=0.7) as store:
            columns = {name: [row[name] for row in rows] for name in ("kind", "license")}
            store.check_and_add([row["text"] for row in rows], [row["id"] for row in rows], columns=columns)
            store.merge()
        with serving(path) as service, chromium() as browser:
            work = threading.Thread(target=keep_busy, args=(service, rows, stop))
            work.start()
            try:
                with visiting(browser, service.url, width=1280, height=1180, color_scheme="light") as visit:
                    visit.page.wait_for_timeout(1000 * SECONDS)
                    shoot(visit, IMAGES / "service-page.png", question(rows), wide=True)
                phone = {"width": 360, "height": 1100, "color_scheme": "dark", "device_scale_factor": 1.5}
                with visiting(browser, service.url, **phone) as visit:
                    visit.wait("#about", "documents")
                    shoot(visit, IMAGES / "service-page-phone.png", question(rows), wide=False)
            finally:
                stop.set()
                work.join()


if __name__ == "__main__":
    main()
