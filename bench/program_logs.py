"""Logs of real programs whose templates are known: `bench/data/program_logs.jsonl.gz`.

    python bench/program_logs.py [--only NAME]

Programs that use Python's `logging` run with a hook that keeps each record's format (`"Crawled %s"`, the event and its
template) and its message (the line). Records without arguments count if their place in the source always logs the same
text, without digits; otherwise the text was formatted before it was logged, and its template is unknown. Formats
without a letter (`"%s"`) are no templates. At most 400 lines of an event are kept, in a random order. Folders of the
machine are replaced by `/srv`.

The programs: a crawler (scrapy, with a site that fails), fonts (fontTools: subsets, merges, XML), figures (matplotlib
and Pillow), an installer (pip), a database library (SQLAlchemy), a web server (uvicorn, websockets
and asyncio). Nobody chose their texts for a log parser, and no rule was chosen on them.
"""

from __future__ import annotations

import collections
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import common

PATH = common.DATA / "program_logs.jsonl.gz"
MAX_LINES = 400
_FORMAT = re.compile(r"%(?:\(\w+\))?[-#0 +]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[hlL]?[diouxXeEfFgGcrsa]")

CRAWLER = r"""
import http.server, random, threading, scrapy
from scrapy.crawler import CrawlerProcess
r = random.Random(7)

class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        number = abs(hash_text(self.path)) % 100
        if self.path.startswith("/robots"):
            body, code, kind = b"User-agent: *\nDisallow: /private\n", 200, "text/plain"
        elif number < 6:
            body, code, kind = b"gone", 404, "text/plain"
        elif number < 9:
            body, code, kind = b"broken", 500, "text/plain"
        elif number < 12:
            self.send_response(302)
            self.send_header("Location", f"/moved/{number}")
            self.end_headers()
            return
        elif number < 14:
            body, code, kind = b"x" * 9000, 200, "application/octet-stream"
        else:
            links = [r.choice([f"/shop/{r.randrange(400)}", f"/blog/{r.choice(WORDS)}", f"/private/{r.randrange(9)}",
                     "http://other.example/x", f"/list?page={r.randrange(40)}", "mailto:a@b"]) for _ in range(6)]
            body = "".join(f'<a href="{link}">x</a>' for link in links).encode()
            code, kind = 200, "text/html"
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *rest):
        pass

def hash_text(text):
    import zlib
    return zlib.crc32(text.encode())

WORDS = "old new red blue river stone garden house light wood paper glass green cold warm quiet".split()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
root = f"http://127.0.0.1:{server.server_port}"

class Spider(scrapy.Spider):
    name = "shop"
    start_urls = [root + "/shop/1", root + "/blog/red"]
    allowed_domains = ["127.0.0.1"]
    def parse(self, response):
        links = response.css("a::attr(href)").getall()
        if len(response.url) % 13 == 0:
            raise ValueError(f"no price in {response.url}")
        yield {"url": response.url, "links": len(links)}
        for link in links:
            if link.startswith("mailto"):
                continue
            yield response.follow(link)

class Drop:
    def process_item(self, item):
        if item["links"] % 3 == 0 and len(item["url"]) % 2:
            raise scrapy.exceptions.DropItem(f"few links: {item['links']}")
        return item

process = CrawlerProcess({"LOG_LEVEL": "DEBUG", "CLOSESPIDER_PAGECOUNT": 900, "DUPEFILTER_DEBUG": True,
    "ROBOTSTXT_OBEY": True, "DOWNLOAD_MAXSIZE": 8000, "DOWNLOAD_WARNSIZE": 4000, "COOKIES_DEBUG": True,
    "ITEM_PIPELINES": {Drop: 1}, "LOGSTATS_INTERVAL": 1, "HTTPCACHE_ENABLED": False, "TELNETCONSOLE_ENABLED": False,
    "AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_DEBUG": True, "AUTOTHROTTLE_START_DELAY": 0.01, "DOWNLOAD_DELAY": 0,
    "AUTOTHROTTLE_TARGET_CONCURRENCY": 8, "LOG_FILE": "crawl.log"})
process.crawl(Spider)
process.start()
"""

FONTS = r"""
import glob, os, random, matplotlib
from fontTools import subset, merge, ttx
r = random.Random(3)
fonts = sorted(glob.glob(os.path.join(matplotlib.get_data_path(), "fonts", "ttf", "*.ttf")))
for number, font in enumerate(r.sample(fonts, 14)):
    text = "".join(r.sample("abcdefghijklmnopqrstuvwxyzABCDEF0123456789", 12))
    options = ["--layout-features=*", "--glyph-names", "--notdef-outline"][: number % 4]
    subset.main([font, f"--text={text}", f"--output-file=subset{number}.ttf", "--verbose", "--timing",
                 "--drop-tables+=FFTM", "--ignore-missing-glyphs", *options])
for number in range(4):
    some = r.sample(range(14), 2)
    try:
        merge.main([f"subset{some[0]}.ttf", f"subset{some[1]}.ttf", "--verbose", "--timing"])
    except Exception:
        pass
for number in range(8):
    ttx.main(["-v", "-f", "-o", f"out{number}.ttx", f"subset{number}.ttf"])
    ttx.main(["-v", "-f", "-o", f"back{number}.ttf", f"out{number}.ttx"])
"""

FIGURES = r"""
import random, io, matplotlib, glob, os
matplotlib.use("agg")
import matplotlib.pyplot as plt
from PIL import Image, PngImagePlugin
r = random.Random(5)
for number in range(14):
    plt.rcParams["font.family"] = r.choice(["DejaVu Sans", "serif", "monospace", "Missing Sans", "cursive"])
    plt.rcParams["font.weight"] = r.choice(["normal", "bold", "light"])
    plt.rcParams["axes.titlesize"] = r.choice([9, 12, 14.5])
    figure, axes = plt.subplots(figsize=(3, 2), layout=r.choice(["tight", "constrained", None]))
    axes.plot(r.sample(["1", "2", "3", "4", "5", "6"], 4), [r.random() for _ in range(4)], label="x")
    axes.set_title(r.choice(["a$x^2$", "b", "\u4e2d"]))
    if number % 2:
        axes.legend()
    if number % 5 == 3:
        axes.set_yscale("log")
    for kind in ("png", "pdf", "svg", "ps"):
        try:
            figure.savefig(f"figure{number}.{kind}")
        except Exception:
            pass
    plt.close(figure)
for number in range(40):
    image = Image.effect_noise((r.randrange(20, 90), r.randrange(20, 90)), r.randrange(5, 90))
    kind = r.choice(["png", "tiff", "gif", "jpeg", "bmp", "webp", "ico"])
    try:
        image.save(f"image{number}.{kind}", dpi=(72, r.randrange(72, 300)))
        with Image.open(f"image{number}.{kind}") as again:
            again.load()
            again.getexif()
    except Exception:
        pass
for path in sorted(glob.glob("figure*.png")):
    Image.open(path).load()
"""

INSTALLER = r"""
from pip._internal.cli.main import main
main(["download", "-vvv", "--no-cache-dir", "-d", "out", "--no-binary", ":none:", "flask", "click<9", "attrs"])
main(["install", "-vvv", "--dry-run", "--ignore-installed", "--no-cache-dir", "jinja2<3.1", "markupsafe"])
main(["install", "-vvv", "--target", "lib", "--no-index", "--find-links", "out", "flask"])
main(["install", "-vvv", "--target", "lib", "--no-index", "--find-links", "out", "absent"])
main(["wheel", "-vvv", "--no-index", "--find-links", "out", "-w", "wheels", "click"])
main(["list", "-vvv"])
main(["check", "-vvv"])
main(["cache", "list", "-vvv"])
"""

DATABASE = r"""
import logging, random
from sqlalchemy import ForeignKey, String, create_engine, select, func, text
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, joinedload, selectinload
logging.getLogger("sqlalchemy").setLevel(logging.DEBUG)
r = random.Random(2)
class Base(DeclarativeBase):
    pass
class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(30))
    orders: Mapped[list["Order"]] = relationship(back_populates="user", cascade="all, delete-orphan")
class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    total: Mapped[float]
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    user: Mapped[User] = relationship(back_populates="orders")
engine = create_engine("sqlite:///shop.db", echo="debug", echo_pool="debug", pool_size=2, pool_recycle=1)
Base.metadata.create_all(engine)
names = "ann bob cid dan eve fay gus hal ida jon kim leo".split()
for number in range(60):
    with Session(engine) as session:
        try:
            user = User(name=r.choice(names), orders=[Order(total=r.random() * 100) for _ in range(r.randrange(4))])
            session.add(user)
            session.commit()
            session.scalars(select(User).where(User.name == r.choice(names)).options(
                r.choice([joinedload(User.orders), selectinload(User.orders)]))).unique().all()
            session.execute(select(func.count()).select_from(Order))
            if number % 5 == 0:
                session.delete(user)
                session.commit()
            if number % 7 == 0:
                with session.begin_nested():
                    session.add(User(name=r.choice(names)))
                session.rollback()
            if number % 9 == 0:
                session.execute(text("SELECT nothing FROM nowhere"))
        except Exception:
            session.rollback()
    if number % 20 == 19:
        engine.dispose()
"""

SERVER = r"""
import asyncio, contextlib, random, httpx, uvicorn, websockets
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
r = random.Random(4)
async def page(request):
    if request.path_params["n"] % 11 == 3:
        raise RuntimeError("broken")
    await asyncio.sleep(0.15 if request.path_params["n"] % 17 == 1 else 0)
    status = 404 if request.path_params["n"] % 7 == 0 else 200
    return PlainTextResponse("x" * request.path_params["n"], status_code=status)
async def chat(socket):
    if socket.query_params.get("no"):
        await socket.close(4001)
        return
    await socket.accept()
    with contextlib.suppress(Exception):
        while True:
            text = await socket.receive_text()
            await socket.send_text(text[::-1])
app = Starlette(routes=[Route("/p/{n:int}", page, methods=["GET", "POST", "PUT"]), WebSocketRoute("/chat", chat)])
async def run():
    config = uvicorn.Config(app, port=0, log_level="trace", ws="websockets", loop="asyncio")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with httpx.AsyncClient() as client:
        for _ in range(260):
            method = r.choice(["GET", "GET", "POST", "PUT", "DELETE"])
            with contextlib.suppress(Exception):
                await client.request(method, f"http://127.0.0.1:{port}/p/{r.randrange(300)}?q={r.choice('abc')}")
    for number in range(25):
        with contextlib.suppress(Exception):
            refused = "?no=1" if number % 6 == 5 else ""
            async with websockets.connect(f"ws://127.0.0.1:{port}/chat{refused}") as socket:
                for _ in range(4):
                    await socket.send(f"{r.choice(['hello', 'order', 'ping'])} {r.randrange(999)}")
                    await socket.recv()
                await (await socket.ping())
    for _ in range(9):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"nonsense\r\n\r\n")
        await writer.drain()
        writer.close()
    server.should_exit = True
    await task
asyncio.run(run(), debug=True)
"""

PROGRAMS = {
    "crawler": CRAWLER,
    "fonts": FONTS,
    "figures": FIGURES,
    "installer": INSTALLER,
    "database": DATABASE,
    "server": SERVER,
}
CHOOSING = ("crawler", "figures", "installer")
"""Programs on which rules may be chosen; the others are sealed."""

HOOK = r"""
import atexit, json, logging, sys
source, output = sys.argv[1:3]
sys.argv = ["program"]
rows = []
class Record(logging.LogRecord):
    def __init__(self, name, level, pathname, lineno, msg, args, *rest, **more):
        super().__init__(name, level, pathname, lineno, msg, args, *rest, **more)
        try:
            rows.append([f"{pathname}:{lineno}", str(msg), bool(self.args), self.getMessage()])
        except Exception:
            pass
logging.setLogRecordFactory(Record)
logging.getLogger().setLevel(logging.DEBUG)
logging.getLogger().addHandler(logging.NullHandler())
atexit.register(lambda: json.dump(rows, open(output, "w")))
exec(compile(open(source).read(), "program", "exec"), {"__name__": "__main__"})
"""


def run(source: str) -> list[tuple[str, str, bool, str]]:
    """Run a program; return place, format, whether it has arguments, and message of each of its log records."""
    with tempfile.TemporaryDirectory() as folder:
        work, program, output = Path(folder) / "work", Path(folder) / "program.py", Path(folder) / "records.json"
        work.mkdir()
        program.write_text(source, encoding="utf-8")
        call = [sys.executable, "-c", HOOK, str(program), str(output)]
        done = subprocess.run(call, cwd=work, capture_output=True, text=True, check=False)
        if not output.exists():
            raise SystemExit(done.stderr[-3000:])
        text = output.read_text(encoding="utf-8")
    libraries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    prefixes = {str(work), sys.prefix, folder, str(Path.home()), sys.base_prefix, *libraries}
    for prefix in sorted(prefixes, key=len, reverse=True):
        text = text.replace(prefix, "/srv") if len(prefix) > 4 else text
    return [tuple(row) for row in json.loads(text)]


def records(name: str, rows: list[tuple[str, str, bool, str]]) -> list[dict[str, Any]]:
    """Return the records whose template is known, at most 400 of an event, in a random order."""
    # A place that passes arguments without conversions has formatted the text before.
    rows = [
        (place, form, has_args and _FORMAT.search(form.replace("%%", "")) is not None, text)
        for place, form, has_args, text in rows
    ]
    texts: dict[str, set[str]] = collections.defaultdict(set)
    for place, form, has_args, _ in rows:
        if not has_args:
            texts[place].add(form)
    constant = {place for place, forms in texts.items() if len(forms) == 1 and not re.search(r"\d", "".join(forms))}
    known = [row for row in rows if row[3].strip() and (row[2] or row[0] in constant)]
    random.Random(f"program {name}").shuffle(known)
    counts: collections.Counter[str] = collections.Counter()
    result = []
    for _, form, has_args, message in known:
        template = "%".join(_FORMAT.sub("<*>", part) for part in form.split("%%")) if has_args else form
        if not re.search("[a-zA-Z]", template.replace("<*>", "")):
            continue
        counts[template] += 1
        if counts[template] <= MAX_LINES:
            result.append({"system": name, "event": template, "template": template, "text": message})
    return result


def read(path: Path = PATH) -> dict[str, list[dict[str, Any]]]:
    """Return the saved records of each program."""
    results: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            results[record["system"]].append(record)
    return dict(results)


def write(path: Path, systems: dict[str, list[dict[str, Any]]]) -> None:
    """Save the records of each program."""
    with gzip.GzipFile(path, "wb", mtime=0) as file:
        for rows in systems.values():
            for record in rows:
                file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")


def main() -> None:
    options = common.arguments(__doc__, ("--only", {"choices": list(PROGRAMS), "help": "run only this program"}))
    results = read() if PATH.exists() else {}
    for name, source in PROGRAMS.items():
        if options.only in (None, name):
            results[name] = records(name, run(source))
            events = collections.Counter(record["event"] for record in results[name])
            print(f"{name:10} {len(results[name]):6} lines, {len(events):4} events")
    write(PATH, {name: results[name] for name in PROGRAMS if name in results})


if __name__ == "__main__":
    main()
