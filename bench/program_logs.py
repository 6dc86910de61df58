"""Logs of real programs whose templates are known: `bench/data/program_logs.jsonl.gz`.

    python bench/program_logs.py --packages FOLDER [--only NAME]

Programs that use Python's `logging` run with a hook that keeps each record's format (`"Crawled %s"`, the event and its
template) and its message (the line). Records without arguments count if their place in the source always logs the same
text, without digits; otherwise the text was formatted before it was logged, and its template is unknown. Formats
without a letter (`"%s"`) are no templates. Folders of the machine are replaced by `/srv`. The lines are in a random
order.

The first programs: a crawler (scrapy, with a site that fails), fonts (fontTools: subsets, merges, XML), figures
(matplotlib and Pillow), an installer (pip), a database library (SQLAlchemy), a web server (uvicorn, websockets and
asyncio); at most 400 lines of an event. The second ones need `--packages`: a queue of tasks (celery), a mail server
(aiosmtpd), calls of a cloud that fails (botocore), timers and a web framework (apscheduler, tornado), pipelines
(luigi), a server of processes (gunicorn), SSH and SFTP (asyncssh), machines (asyncua), builds (setuptools),
documentation (sphinx), topics of texts (gensim); at most 60 lines of an event, of at most 2,000 characters. Nobody
chose their texts for a log parser. Rules were chosen on those in `CHOOSING`.
"""

# The second programs have long lines.
# ruff: noqa: E501

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
MAX_LINES_SECOND = 60
MAX_CHARACTERS_SECOND = 2000
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

TASKS = r"""
import contextlib, random, time
from datetime import datetime, timedelta, timezone
from celery import Celery, chain, chord, group
from celery.contrib.testing.worker import start_worker
from celery.exceptions import Ignore, Reject, SoftTimeLimitExceeded
r = random.Random(6)
app = Celery("shop", broker="memory://", backend="cache+memory://")
app.conf.update(worker_hijack_root_logger=False, task_acks_late=True, worker_send_task_events=True,
    task_track_started=True, task_reject_on_worker_lost=True, worker_enable_remote_control=True)
@app.task(name="shop.add")
def add(a, b):
    return a + b
@app.task(name="shop.price", bind=True, max_retries=2, default_retry_delay=0.01)
def price(self, article):
    if article % 3 == 0:
        raise self.retry(exc=ValueError(f"no price for {article}"), countdown=0.01)
    return article * 1.2
@app.task(name="shop.mail", autoretry_for=(ConnectionError,), max_retries=1, retry_backoff=0.01)
def mail(address):
    if len(address) % 2:
        raise ConnectionError(f"no route to {address}")
    return [address] * 3
@app.task(name="shop.stock")
def stock(name):
    return {"name": name, "left": 5 // (len(name) % 4)}
@app.task(name="shop.refuse")
def refuse(number):
    raise Ignore() if number % 2 else Reject("not now", requeue=False)
@app.task(name="shop.sum", rate_limit="500/s")
def total(values):
    return sum(values)
@app.task(name="shop.slow", soft_time_limit=1)
def slow():
    raise SoftTimeLimitExceeded()
@app.task(name="shop.stop")
def leave():
    raise SystemExit(1)
with start_worker(app, pool="solo", perform_ping_check=False, loglevel="DEBUG", shutdown_timeout=20):
    names = "ann bob cid dan eve fay gus hal ida jon kim leo".split()
    results = []
    for number in range(90):
        results.append(add.delay(r.randrange(99), r.randrange(99)))
        results.append(price.delay(r.randrange(40)))
        results.append(mail.delay(f"{r.choice(names)}@shop.example"))
        results.append(stock.delay(r.choice(names)))
        if number % 4 == 0:
            refuse.delay(number // 4)
            add.apply_async((1, number), expires=datetime.now(timezone.utc) - timedelta(seconds=5))
            app.send_task(f"shop.{r.choice(names)}", args=(number,))
            add.delay("a", 1)
            add.apply_async((1, 2), eta=datetime.now(timezone.utc) + timedelta(seconds=0.05))
        if number % 6 == 0:
            late = add.apply_async((1, 2), countdown=30)
            app.control.revoke(late.id, terminate=bool(number % 12))
            chord(group(add.s(n, n) for n in range(3)))(total.s())
            chain(add.s(1, 2), add.s(3))()
            gone = add.apply_async((3, 4), countdown=0.3)
            app.control.revoke(gone.id)
        if number % 15 == 1:
            slow.delay()
            for call in (lambda: app.control.rate_limit(r.choice(["shop.add", "shop.none"]), f"{number}/m"),
                         lambda: app.control.time_limit("shop.price", soft=number, hard=number * 2),
                         lambda: app.control.add_consumer(f"queue{number}"),
                         lambda: app.control.cancel_consumer(f"queue{number}"),
                         lambda: app.control.enable_events(), lambda: app.control.disable_events(),
                         lambda: app.control.pool_grow(1), lambda: app.control.broadcast("nothing"),
                         lambda: app.control.inspect(timeout=0.1).active(),
                         lambda: app.control.inspect(timeout=0.1).stats(),
                         lambda: app.control.inspect(timeout=0.1).query_task(late.id)):
                with contextlib.suppress(Exception):
                    call()
        if number % 20 == 3:
            with app.connection_for_write() as connection, connection.SimpleQueue("celery") as queue:
                queue.put({"hello": number}, headers={"lang": "none"})
                queue.put("text", content_type="text/plain")
    deadline = time.time() + 20
    while time.time() < deadline and not all(result.ready() for result in results):
        time.sleep(0.1)
    time.sleep(1)
"""

MAIL = r"""
import contextlib, random, smtplib, socket, time
from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Debugging, Sink, Mailbox
from aiosmtpd.smtp import AuthResult, LoginPassword
r = random.Random(11)
names = "ann bob cid dan eve fay gus hal ida jon kim leo".split()
class Handler(Sink):
    async def handle_RCPT(self, server, session, envelope, address, rcpt_options):
        if address.startswith("gus"):
            return "550 no such user"
        envelope.rcpt_tos.append(address)
        return "250 OK"
    async def handle_DATA(self, server, session, envelope):
        if len(envelope.content) % 7 == 0:
            raise RuntimeError(f"full mailbox of {envelope.rcpt_tos[0]}")
        return "250 OK"
def check(server, session, envelope, mechanism, data):
    return AuthResult(success=data.login in (b"ann", b"bob"), handled=False)
controller = Controller(Handler(), hostname="127.0.0.1", port=0 or 18025, authenticator=check, auth_require_tls=False,
                        data_size_limit=4000, enable_SMTPUTF8=True)
controller.start()
for number in range(60):
    with contextlib.suppress(Exception), smtplib.SMTP("127.0.0.1", 18025, timeout=2, local_hostname=f"{r.choice(names)}.example") as client:
        client.helo() if number % 3 == 0 else client.ehlo()
        if number % 2:
            with contextlib.suppress(Exception):
                client.login(r.choice(names), "secret")
        with contextlib.suppress(Exception):
            client.sendmail(f"{r.choice(names)}@a.example", [f"{r.choice(names)}@b.example" for _ in range(r.randrange(1, 4))],
                            "Subject: x\n\n" + "y" * r.randrange(1, 5000))
        for word in r.sample(["NOOP", "HELP", "VRFY ann", "RSET", "EXPN list", "MAIL FROM:<x", "RCPT TO:<y@z>", "NONSENSE " + "q" * r.randrange(700), "AUTH PLAIN xx", "\xff"], 5):
            with contextlib.suppress(Exception):
                client.docmd(word)
for _ in range(9):
    with socket.create_connection(("127.0.0.1", 18025)) as raw:
        raw.sendall(b"x" * r.randrange(2000) + b"\r\n\xff\xfe\r\n")
        time.sleep(0.02)
controller.stop()
"""

CLOUD = r"""
import contextlib, http.server, json, random, threading
import botocore.session, botocore.config
from botocore.stub import Stubber
r = random.Random(10)
class Cloud(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        number = r.randrange(100)
        code, kind, body = 200, "application/json", b"{}"
        if "s3" in self.headers.get("Authorization", "") or "bucket" in self.path:
            kind, body = "application/xml", b"<?xml version='1.0'?><ListBucketResult><Name>a</Name></ListBucketResult>"
        if number < 9:
            code, body = 503, b"<Error><Code>SlowDown</Code><Message>slow</Message></Error>" if kind.endswith("xml") else b'{"__type":"ThrottlingException","message":"slow"}'
        elif number < 16:
            code, body = 404, b"<Error><Code>NoSuchKey</Code></Error>" if kind.endswith("xml") else b'{"__type":"ResourceNotFoundException"}'
        elif number < 20:
            code, body = 500, b"broken"
        elif number < 22:
            self.close_connection = True
            return
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-amzn-RequestId", f"{r.randrange(16**12):012x}")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer
    def log_message(self, *rest):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Cloud)
threading.Thread(target=server.serve_forever, daemon=True).start()
root = f"http://127.0.0.1:{server.server_port}"
session = botocore.session.Session()
session.set_credentials("AKIDEXAMPLE", "secret")
names = "north south east west harbour".split()
for turn, mode in enumerate(["standard", "adaptive", "legacy", "standard"]):
    settings = botocore.config.Config(retries={"mode": mode, "max_attempts": 2 + turn}, region_name=f"eu-west-{turn + 1}",
        s3={"addressing_style": ["path", "auto", "path", "path"][turn]}, connect_timeout=2, read_timeout=2)
    make = lambda name: session.create_client(name, endpoint_url=root, config=settings)
    s3, queue, table, functions, keys = make("s3"), make("sqs"), make("dynamodb"), make("lambda"), make("sts")
    for number in range(9):
        name = r.choice(names)
        calls = [lambda: s3.list_objects_v2(Bucket=f"bucket-{name}"),
                 lambda: s3.put_object(Bucket=f"bucket-{name}", Key=f"a/{number}.txt", Body=b"x" * r.randrange(999)),
                 lambda: s3.get_object(Bucket="bucket-a", Key=f"{name}/{number}"),
                 lambda: s3.head_bucket(Bucket=f"bucket-{name}"),
                 lambda: s3.generate_presigned_url("get_object", Params={"Bucket": "bucket-b", "Key": name}),
                 lambda: queue.send_message(QueueUrl=f"{root}/1/{name}", MessageBody=f"order {number}"),
                 lambda: table.get_item(TableName=name, Key={"id": {"S": str(number)}}),
                 lambda: functions.invoke(FunctionName=name, Payload=b"{}"),
                 lambda: keys.get_caller_identity()]
        for call in r.sample(calls, 4):
            with contextlib.suppress(Exception):
                call()
for number in range(9):
    other = botocore.session.Session(profile="none" if number % 2 else None)
    with contextlib.suppress(Exception):
        client = other.create_client(r.choice(["ec2", "iam", "kms"]), region_name="us-east-1", endpoint_url="http://127.0.0.1:9",
            config=botocore.config.Config(retries={"max_attempts": 1}))
        client.describe_regions() if hasattr(client, "describe_regions") else client.list_keys()
    with contextlib.suppress(Exception):
        waiter = s3.get_waiter("object_exists")
        waiter.wait(Bucket="bucket-c", Key=str(number), WaiterConfig={"Delay": 0, "MaxAttempts": 2})
"""

TIMERS = r"""
import asyncio, contextlib, random, threading, time
from datetime import datetime, timedelta, timezone
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.memory import MemoryJobStore
from apscheduler.schedulers.background import BackgroundScheduler
import tornado.ioloop, tornado.web, tornado.httpclient, tornado.websocket, tornado.httpserver, tornado.options, tornado.locale, tornado.autoreload
r = random.Random(9)
def backup(path):
    if len(path) % 3 == 0:
        raise OSError(f"no space for {path}")
def report():
    time.sleep(0.15)
class Mail:
    def send(self, address):
        return address
scheduler = BackgroundScheduler(jobstores={"default": MemoryJobStore(), "memory": MemoryJobStore()},
    executors={"default": ThreadPoolExecutor(3), "small": ThreadPoolExecutor(1)}, timezone=timezone.utc)
scheduler.add_job(backup, "interval", seconds=0.2, args=["/srv/a"], id="early", name="early backup")
scheduler.start()
names = "backup index rotate sync report mirror vacuum export import check".split()
for number in range(40):
    name = r.choice(names)
    now = datetime.now(timezone.utc)
    with contextlib.suppress(Exception):
        scheduler.add_job(backup, "date", run_date=now + timedelta(seconds=0.02), args=[f"/srv/{name}"], id=f"{name}-{number}", name=f"{name} of {number}")
        scheduler.add_job(report, "interval", seconds=0.05, id=f"r{number % 3}", replace_existing=True, max_instances=1 + number % 2, executor="small" if number % 2 else "default")
        scheduler.add_job(Mail().send, "date", run_date=now - timedelta(seconds=50), args=["a@b"], jobstore="memory", misfire_grace_time=1)
        scheduler.add_job(backup, "cron", hour=number % 24, args=["x"], id=f"c{number}", jobstore="memory")
    with contextlib.suppress(Exception):
        scheduler.pause_job(f"c{number}", "memory")
        scheduler.resume_job(f"c{number}", "memory")
        scheduler.reschedule_job(f"c{number}", "memory", trigger="interval", minutes=number + 1)
        scheduler.modify_job(f"c{number}", "memory", name=f"weekly {name}")
    with contextlib.suppress(Exception):
        scheduler.remove_job(f"c{number - 1}", "memory")
        scheduler.remove_job(f"none{number}")
    if number % 13 == 5:
        scheduler.add_jobstore(MemoryJobStore(), f"store{number}")
        scheduler.add_executor(ThreadPoolExecutor(1), f"pool{number}")
        scheduler.remove_jobstore(f"store{number}")
        scheduler.remove_executor(f"pool{number}")
        scheduler.pause()
        scheduler.resume()
    time.sleep(0.06)
scheduler.remove_all_jobs()
scheduler.shutdown()

class Page(tornado.web.RequestHandler):
    def get(self, number):
        number = int(number)
        if number % 13 == 2:
            raise RuntimeError(f"broken {number}")
        if number % 11 == 3:
            raise tornado.web.HTTPError(403, "no entry for %s", r.choice(names))
        if number % 7 == 1:
            raise tornado.web.HTTPError(404)
        if number % 17 == 4:
            self.redirect("/page/1")
            return
        self.get_cookie("a")
        self.get_signed_cookie("user")
        self.get_argument("q")
        self.write("x" * number)
    def post(self, number):
        self.write(self.get_body_argument("name", "none"))
class Chat(tornado.websocket.WebSocketHandler):
    def on_message(self, message):
        if "5" in message:
            raise ValueError(message)
        self.write_message(message[::-1])
async def main():
    application = tornado.web.Application([(r"/page/(\d+)", Page), (r"/chat", Chat),
        (r"/files/(.*)", tornado.web.StaticFileHandler, {"path": "."})], cookie_secret="secret", websocket_ping_interval=0.1)
    server = tornado.httpserver.HTTPServer(application, max_header_size=4000, max_body_size=5000)
    socket, port = tornado.testing.bind_unused_port()
    server.add_socket(socket)
    client = tornado.httpclient.AsyncHTTPClient()
    root = f"http://127.0.0.1:{port}"
    for number in range(150):
        for request in (tornado.httpclient.HTTPRequest(f"{root}/page/{r.randrange(90)}" + r.choice(["?q=a", "", "?q=%ff"]), headers={"Cookie": "user=" + r.choice(["2|1:0|10:1|4:user|4:YQ==|00", "bad", "1|x|y"])}),
                        tornado.httpclient.HTTPRequest(f"{root}/page/{number}", method="POST", body="name=" + "y" * r.randrange(1, 200), headers={"Content-Type": r.choice(["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data"])}),
                        tornado.httpclient.HTTPRequest(f"{root}/files/{r.choice(names)}"),
                        tornado.httpclient.HTTPRequest(f"{root}/none", method="DELETE")):
            with contextlib.suppress(Exception):
                await client.fetch(request, raise_error=False)
    for number in range(12):
        with contextlib.suppress(Exception):
            chat = await tornado.websocket.websocket_connect(f"ws://127.0.0.1:{port}/chat")
            await chat.write_message(f"hello {number}")
            await asyncio.wait_for(chat.read_message(), 0.2)
            chat.close()
    for text in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nHost x\r\n\r\n", b"POST /page/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n",
                 b"POST /page/1 HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"x" * 9000,
                 b"POST /page/1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n") * 3:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(text)
        with contextlib.suppress(Exception):
            await writer.drain()
        await asyncio.sleep(0.03)
        writer.close()
    await asyncio.sleep(0.2)
import tornado.testing
asyncio.run(main())
"""

PIPELINES = r"""
import contextlib, os, random, threading, luigi, luigi.worker, luigi.scheduler
from luigi.contrib.external_program import ExternalProgramTask
r = random.Random(12)
class Fetch(luigi.Task):
    day = luigi.DateParameter()
    shop = luigi.Parameter()
    def output(self):
        return luigi.LocalTarget(f"fetch/{self.shop}/{self.day}.csv")
    def run(self):
        if hash_text(f"{self.shop}{self.day}") % 9 == 1:
            raise RuntimeError(f"no data of {self.shop}")
        with self.output().open("w") as out:
            out.write("1,2\n" * 9)
def hash_text(text):
    import zlib
    return zlib.crc32(text.encode())
class Clean(luigi.Task):
    day = luigi.DateParameter()
    shop = luigi.Parameter()
    retry_count = 2
    def requires(self):
        return Fetch(day=self.day, shop=self.shop)
    def output(self):
        return luigi.LocalTarget(f"clean/{self.shop}-{self.day}.csv")
    def run(self):
        self.set_status_message(f"cleaning {self.shop}")
        self.set_progress_percentage(50)
        with self.input().open() as source, self.output().open("w") as out:
            out.write(source.read())
class Missing(luigi.ExternalTask):
    name = luigi.Parameter()
    def output(self):
        return luigi.LocalTarget(f"missing/{self.name}")
class Shell(ExternalProgramTask):
    number = luigi.IntParameter()
    def program_args(self):
        return ["ls", f"none{self.number}" if self.number % 3 == 0 else "."]
    def complete(self):
        return False
class Loop(luigi.Task):
    number = luigi.IntParameter()
    def requires(self):
        return Loop(number=(self.number + 1) % 3)
class Broken(luigi.Task):
    number = luigi.IntParameter()
    def requires(self):
        raise ValueError(f"cannot plan {self.number}")
class Forgetful(luigi.Task):
    number = luigi.IntParameter()
    def output(self):
        return luigi.LocalTarget(f"forgotten/{self.number}")
    def run(self):
        pass
class Dynamic(luigi.Task):
    day = luigi.DateParameter()
    def output(self):
        return luigi.LocalTarget(f"dynamic/{self.day}")
    def run(self):
        yield [Clean(day=self.day, shop=shop) for shop in ("north", "south")]
        with self.output().open("w") as out:
            out.write("x")
class Report(luigi.Task):
    interval = luigi.DateIntervalParameter()
    priority = 5
    resources = {"printer": 1}
    def requires(self):
        shops = "north south east west harbour".split()
        return [Clean(day=day, shop=r.choice(shops)) for day in self.interval.dates()]
    def output(self):
        return luigi.LocalTarget(f"report/{self.interval}.txt")
    def run(self):
        with self.output().open("w") as out:
            out.write("done")
class All(luigi.WrapperTask):
    week = luigi.DateIntervalParameter()
    def requires(self):
        yield Report(interval=self.week)
        yield Missing(name=f"file{self.week}")
@luigi.Task.event_handler(luigi.Event.FAILURE)
def failed(task, error):
    if r.random() < 0.2:
        raise KeyError("handler")
intervals = [luigi.DateIntervalParameter().parse(f"2024-W{week:02}") for week in range(1, 9)]
for number, week in enumerate(intervals):
    luigi.build([All(week=week)], local_scheduler=True, workers=1, no_lock=True, log_level="DEBUG")
    luigi.build([Dynamic(day=day) for day in week.dates()[:3]], local_scheduler=True, log_level="DEBUG")
    luigi.build([Shell(number=number), Loop(number=1), Broken(number=number), Forgetful(number=number)],
                local_scheduler=True, log_level="DEBUG")
scheduler = luigi.scheduler.Scheduler(retry_delay=0.01, remove_delay=0.01, worker_disconnect_delay=0.01, disable_window=9)
for number in range(12):
    names = [f"w{number}", f"w{number + 1}"]
    for name in names:
        scheduler.add_task(worker=name, task_id=f"T{number}", status="PENDING", family="T", params={"n": number},
                           deps=[f"D{number}"], resources={"r": 2})
        scheduler.get_work(worker=name, host="localhost")
        scheduler.add_task(worker=name, task_id=f"D{number}", status="FAILED", expl="x", family="D")
    scheduler.disable_worker(names[0])
    scheduler.re_enable_task(f"D{number}")
    scheduler.forgive_failures(f"D{number}")
    scheduler.mark_as_done(f"D{number}")
    scheduler.prune()
    scheduler.update_resource("r", number)
    scheduler.pause() if number % 2 else scheduler.unpause()
    with contextlib.suppress(Exception):
        scheduler.add_worker(names[1], {"host": "x"})
    scheduler.count_pending(names[1])
    scheduler.send_scheduler_message(names[1], f"T{number}", "hello")
    scheduler.fetch_error(f"D{number}")
    scheduler.graph()
scheduler._state._state_path = "state.pickle"
scheduler.dump()
scheduler.load()
"""

WEB = r"""
import contextlib, http.client, os, random, signal, socket, sys, threading, time, logging
from gunicorn.app.base import BaseApplication
from gunicorn import glogging
r = random.Random(14)
def page(environ, start):
    number = int(environ["PATH_INFO"].rsplit("/", 1)[-1] or 0)
    if number % 13 == 3:
        raise RuntimeError(f"broken {number}")
    if number % 31 == 5:
        time.sleep(3)
    start("200 OK", [("Content-Length", str(number))])
    return [b"x" * number]
class Logger(glogging.Logger):
    def setup(self, cfg):
        super().setup(cfg)
        self.error_log.propagate = self.access_log.propagate = False
class Server(BaseApplication):
    def __init__(self, **options):
        self.options = options
        super().__init__()
    def load_config(self):
        for key, value in self.options.items():
            self.cfg.set(key, value)
    def load(self):
        return page
def visit(parent):
    time.sleep(1.5)
    for number in range(150):
        with contextlib.suppress(Exception):
            connection = http.client.HTTPConnection("127.0.0.1", 18080, timeout=1)
            connection.request(r.choice(["GET", "POST", "PUT"]), f"/p/{r.randrange(200)}?q={r.choice('abc')}", headers={"User-Agent": r.choice(["curl/8.1", "Mozilla/5.0 (X11)", "probe"])})
            connection.getresponse().read()
            connection.close()
        with contextlib.suppress(Exception):
            if number % 9 == 2:
                with socket.create_connection(("127.0.0.1", 18080)) as raw:
                    raw.sendall(r.choice([b"nonsense\r\n\r\n", b"GET / HTTP/7.1\r\n\r\n", b"GET /p/1 HTTP/1.1\r\nA b: c\r\n\r\n", b"GET /" + b"x" * 9000]))
                    time.sleep(0.02)
        if number % 20 == 10:
            os.kill(parent, [signal.SIGHUP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGUSR1][number // 20 % 4])
            time.sleep(0.5)
    os.kill(parent, signal.SIGTERM)
child = os.fork()
if child == 0:
    visit(os.getppid())
    os._exit(0)
for key in ("gunicorn.error", "gunicorn.access"):
    logging.getLogger(key).setLevel(logging.DEBUG)
Server(bind="127.0.0.1:18080", workers=2, loglevel="debug", accesslog="access.log", errorlog="error.log", timeout=2,
       max_requests=30, max_requests_jitter=5, graceful_timeout=1, preload_app=False).run()
"""

SSH = r"""
import asyncio, contextlib, logging, random, sys, asyncssh
r = random.Random(13)
class Logger(asyncssh.logging.SSHLogger):
    # The connection and channel before a message are an argument.
    def log(self, level, message, *args, extra=None, **options):
        context = self._extend_context((extra or {}).get("context"))
        if context:
            message, args = "[%s] " + message, (context, *args)
        self._logger.log(level, message, *args, stacklevel=4, **options)
for module in list(sys.modules.values()):
    if isinstance(getattr(module, "logger", None), asyncssh.logging.SSHLogger):
        module.logger = Logger(logging.getLogger("asyncssh"), module.logger._child if hasattr(module.logger, "_child") else "")
asyncssh.set_log_level("DEBUG")
asyncssh.set_debug_level(2)
names = "ann bob cid dan eve fay gus hal ida jon kim leo".split()
keys = {name: asyncssh.generate_private_key("ssh-ed25519") for name in names[:5]}
with open("authorized", "wb") as out:
    for name in names[:3]:
        out.write(keys[name].export_public_key())
class Server(asyncssh.SSHServer):
    def begin_auth(self, user):
        if user != "leo":
            with contextlib.suppress(Exception):
                self.connection.set_authorized_keys("authorized")
        return user != "guest"
    def connection_made(self, connection):
        self.connection = connection
    def password_auth_supported(self):
        return True
    def validate_password(self, user, password):
        return password == "secret" and user in names[:8]
    def connection_requested(self, host, port, source, source_port):
        return port % 2 == 0
    def server_requested(self, host, port):
        return True
async def serve(process):
    command = process.command or "shell"
    if "fail" in command:
        process.exit(3)
        return
    if "kill" in command:
        process.exit_with_signal("TERM", msg="stopped")
        return
    process.stdout.write(f"{command} {process.env}\n")
    with contextlib.suppress(Exception):
        async for line in process.stdin:
            process.stdout.write(line)
    process.exit(0)
async def visit(port, number):
    user = r.choice([*names, "guest"])
    options = {"known_hosts": None, "username": user, "password": r.choice(["secret", "wrong"]), "client_keys": [keys[user]] if user in keys else None,
               "compression_algs": r.choice([["none"], ["zlib@openssh.com"]]), "login_timeout": 4,
               "encryption_algs": r.choice([["aes128-ctr"], ["chacha20-poly1305@openssh.com"], ["aes256-gcm@openssh.com"], ["3des-cbc"]])}
    if number % 10 == 7:
        options["encryption_algs"] = ["arcfour"]
    async with asyncssh.connect("127.0.0.1", port, **options) as connection:
        for _ in range(r.randrange(3)):
            command = r.choice(["list", "fail", "kill", "read /etc/motd", "count 5"])
            await asyncio.wait_for(connection.run(command, input="hello\n", env={"LANG": "C", "N": str(number)}, term_type=r.choice([None, "xterm", "vt100"])), 3)
        if number % 3 == 0:
            async with connection.start_sftp_client() as files:
                with open("up.txt", "w") as out:
                    out.write("x" * r.randrange(1, 60000))
                await files.put("up.txt", f"down{number}.txt")
                with contextlib.suppress(Exception):
                    await files.get("none.txt")
                with contextlib.suppress(Exception):
                    await files.mkdir(f"folder{number}")
                    await files.rename(f"down{number}.txt", f"moved{number}.txt")
                    await files.stat(f"moved{number}.txt")
                    await files.chmod(f"moved{number}.txt", 0o600)
                    await files.listdir(".")
                    await files.symlink("a", f"link{number}")
                    await files.readlink(f"link{number}")
                    await files.truncate(f"moved{number}.txt", 5)
                    await files.remove(f"moved{number}.txt")
                    await files.rmdir(f"folder{number}")
        if number % 4 == 1:
            with contextlib.suppress(Exception):
                listener = await connection.forward_local_port("127.0.0.1", 0, "127.0.0.1", port)
                reader, writer = await asyncio.open_connection("127.0.0.1", listener.get_port())
                await asyncio.wait_for(reader.read(10), 1)
                writer.close()
                listener.close()
            with contextlib.suppress(Exception):
                listener = await connection.forward_remote_port("127.0.0.1", 0, "127.0.0.1", port)
                reader, writer = await asyncio.open_connection("127.0.0.1", listener.get_port())
                await asyncio.wait_for(reader.read(10), 1)
                writer.close()
                listener.close()
            with contextlib.suppress(Exception):
                await connection.open_connection("127.0.0.1", 9)
        if number % 5 == 2:
            process = await connection.create_process("shell", term_type="ansi", term_size=(80, 24))
            process.change_terminal_size(r.randrange(60, 200), 40)
            process.send_break(100)
            with contextlib.suppress(Exception):
                process.send_signal("INT")
            process.stdin.write_eof()
            await asyncio.wait_for(process.wait(), 2)
        if number % 6 == 3:
            connection.send_debug(f"note {number}")
async def main():
    server = await asyncssh.create_server(Server, "127.0.0.1", 0, server_host_keys=[asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ecdsa-sha2-nistp256")],
        process_factory=serve, sftp_factory=True, allow_scp=True, login_timeout=3, keepalive_interval=0.5, rekey_bytes=90000,
        encryption_algs=["aes128-ctr", "aes256-ctr", "chacha20-poly1305@openssh.com", "aes256-gcm@openssh.com", "3des-cbc"])
    port = server.sockets[0].getsockname()[1]
    for number in range(90):
        with contextlib.suppress(Exception):
            await asyncio.wait_for(visit(port, number), 12)
        if number % 9 == 4:
            with contextlib.suppress(Exception):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(r.choice([b"nonsense\r\n", b"SSH-1.5-old\r\n", b"SSH-2.0-x\r\n" + b"\x00" * 40]))
                await asyncio.sleep(0.1)
                writer.close()
    server.close()
    await server.wait_closed()
asyncio.run(main())
"""

MACHINES = r"""
import asyncio, contextlib, logging, random
from asyncua import Client, Server, ua, uamethod
r = random.Random(18)
names = "pump valve motor tank mixer heater cooler belt press oven".split()
@uamethod
def turn(parent, value):
    if value > 50:
        raise ValueError("too fast")
    return value * 2
class Watch:
    def datachange_notification(self, node, value, data):
        if value == 7:
            raise RuntimeError("seven")
    def event_notification(self, event):
        pass
    def status_change_notification(self, status):
        pass
async def main():
    server = Server()
    await server.init()
    server.set_endpoint("opc.tcp://127.0.0.1:14840/plant")
    server.set_server_name("plant")
    space = await server.register_namespace("http://plant.example")
    nodes = []
    for name in names:
        machine = await server.nodes.objects.add_object(space, name)
        for part in ("speed", "level"):
            node = await machine.add_variable(space, f"{name}.{part}", r.random())
            await node.set_writable()
            nodes.append(node)
        await machine.add_method(space, "turn", turn, [ua.VariantType.Int64], [ua.VariantType.Int64])
    async with server:
        for number in range(25):
            with contextlib.suppress(Exception):
                async with Client("opc.tcp://127.0.0.1:14840/plant", timeout=2) as client:
                    found = [client.get_node(node.nodeid) for node in r.sample(nodes, 4)]
                    for node in found:
                        await node.read_value()
                        with contextlib.suppress(Exception):
                            await node.write_value(r.choice([1.5, 7.0, "text", 3]))
                    subscription = await client.create_subscription(50, Watch())
                    handles = [await subscription.subscribe_data_change(node) for node in found]
                    await found[0].write_value(7.0)
                    await asyncio.sleep(0.15)
                    with contextlib.suppress(Exception):
                        await client.nodes.objects.call_method(f"{space}:none", 1)
                    with contextlib.suppress(Exception):
                        machine = await client.nodes.objects.get_child([f"{space}:{r.choice(names)}"])
                        await machine.call_method(f"{space}:turn", r.randrange(100))
                    with contextlib.suppress(Exception):
                        await client.get_node(f"ns=9;i={number}").read_value()
                    for handle in handles[:2]:
                        await subscription.unsubscribe(handle)
                    await subscription.delete()
                    await client.get_namespace_array()
                    with contextlib.suppress(Exception):
                        await client.get_node(nodes[0].nodeid).read_raw_history()
            if number % 5 == 2:
                with contextlib.suppress(Exception):
                    reader, writer = await asyncio.open_connection("127.0.0.1", 14840)
                    writer.write(r.choice([b"nonsense" * 4, b"HELF\x08\x00\x00\x00", b"MSGF" + b"\x00" * 30]))
                    await asyncio.sleep(0.1)
                    writer.close()
            if number % 7 == 3:
                with contextlib.suppress(Exception):
                    async with Client("opc.tcp://127.0.0.1:9/none", timeout=0.3):
                        pass
                with contextlib.suppress(Exception):
                    client = Client("opc.tcp://127.0.0.1:14840/plant")
                    client.set_user(r.choice(names))
                    client.set_password("x")
                    async with client:
                        pass
asyncio.run(main())
"""

BUILDER = r"""
import contextlib, os, random, sys
r = random.Random(17)
import setuptools
from setuptools import setup, Extension
names = "shop order price stock mail north south east west harbour river stone garden".split()
root = os.getcwd()
for number in range(12):
    os.chdir(root)
    name = f"{r.choice(names)}{number}" if number % 3 else r.choice(names)
    os.makedirs(f"{name}/src/{name}/data/deep", exist_ok=True)
    os.chdir(name)
    modules = r.sample(names, r.randrange(3, 8))
    for module in modules:
        with open(f"src/{name}/{module}.py", "w") as out:
            out.write(f"def {module}():\n    return {number}\n" if r.random() < 0.9 else "def (:\n")
    for path in (f"src/{name}/__init__.py", f"src/{name}/data/deep/{r.choice(names)}.txt", f"src/{name}/data/{r.choice(names)}.json"):
        with open(path, "w") as out:
            out.write("")
    with open("part.c", "w") as out:
        out.write("int main(void) { return 0; }\n" if number % 4 else "int x(\n")
    with open("MANIFEST.in", "w") as out:
        out.write(f"include {r.choice(names)}.md\nrecursive-include src *.txt\nglobal-exclude *.bak\nprune {r.choice(names)}\ninclude *.{number}\ngraft src/{name}/data\nexclude *.tmp\nrecursive-exclude docs *\nwrong {number}\n")
    options = dict(name=name, version=r.choice(["1.0", "0.2.dev3", "2024.1", "1.0-beta"]), packages=[name], package_dir={"": "src"},
                   package_data={name: ["data/*"]}, description=r.choice(["", "a shop"]), long_description="x", license="MIT", include_package_data=bool(number % 2),
                   entry_points={"console_scripts": [f"{name}={name}:main"]}, install_requires=["click", f"none{number}"], scripts=[])
    for command in (["egg_info"], ["sdist", "--formats=gztar,zip"], ["build"], ["build_ext"] , ["bdist_wheel"], ["install_lib", "-d", "lib"], ["clean", "--all"], ["check", "-m", "-s"], ["develop", "--user", "--dry-run"], ["install_egg_info", "-d", "lib"], ["rotate", "-m", ".gz", "-k", "0"], ["saveopts", "-f", "x"], ["bdist", "--formats=zip"]):
        extra = dict(ext_modules=[Extension(f"{name}.part", ["part.c"])]) if number % 4 == 1 and command[0] in ("build", "build_ext") else {}
        with contextlib.suppress(BaseException):
            setup(script_args=["-v", *command], script_name="setup.py", **options, **extra)
"""

DOCS = r"""
import contextlib, os, random
from sphinx.cmd.build import main
r = random.Random(16)
names = "start install guide faq api recipes history index_of_terms".split()
os.makedirs("docs/_static", exist_ok=True)
def write(name, text):
    with open(f"docs/{name}", "w") as out:
        out.write(text)
write("conf.py", "project = 'Shop'\nextensions = ['sphinx.ext.autodoc', 'sphinx.ext.autosectionlabel', 'sphinx.ext.todo', 'sphinx.ext.doctest', 'sphinx.ext.extlinks', 'sphinx.ext.autosummary', 'sphinx.ext.viewcode', 'sphinx.ext.intersphinx']\nnitpicky = True\nhtml_static_path = ['_static', '_none']\nextlinks = {'issue': ('http://x.example/%s', 'issue %s')}\ntodo_emit_warnings = True\nsuppress_warnings = []\nintersphinx_mapping = {'other': ('http://127.0.0.1:9/', None)}\nhtml_theme_options = {'none_such': 1}\nlinkcheck_timeout = 1\n")
write("shop.py", "def price(x):\n    '''Return.\n\n   Bad indent\n     more\n\n    :param y: none\n    '''\nclass Order:\n    '''An order.'''\n    def total(self):\n        '''Sum of :class:`Missing`.'''\n")
for turn in range(10):
    for name in names:
        parts = [f"{name}\n{'=' * r.choice([3, len(name), len(name) + 4])}\n"]
        for _ in range(r.randrange(3, 12)):
            word = r.choice(names)
            parts.append(r.choice([f":ref:`{word}{turn}`", f":doc:`{word}{turn}`", f".. image:: {word}.png", f".. include:: {word}.txt",
                f".. code-block:: lang{turn}\n\n   x = 1", f".. {word}::\n\n   text", f":{word}:`text`", f".. toctree::\n\n   {word}\n   {word}{turn}",
                f"``{word}", f"*{word}", f"|{word}|", f"`{word}`_", f".. [{turn}] note", f"[{turn + 3}]_", f".. autofunction:: shop.{word}", f".. automodule:: {word}",
                f".. py:function:: {word}(a)", f":py:func:`{word}{turn}`", f":class:`{word.title()}`", f".. todo:: {word}", f".. _{word}:\n\ntext", f"{word}\n---\n\ntext", f".. literalinclude:: {word}.py", f".. literalinclude:: shop.py\n   :lines: 900-\n", f".. code-block:: python\n\n   def ((\n", f".. math:: {word}", f":download:`{word}.zip`", f".. glossary::\n\n   {word}\n      text", f":term:`{word}{turn}`", f":issue:`{turn}`", f"   * {word}\n  * b", f".. csv-table::\n   :file: {word}.csv", f".. automethod:: shop.Order.total", f":option:`{word}`", f".. figure:: {word}.jpg\n   :width: x", f".. note::", f".. doctest::\n\n   >>> {turn}\n   1\n", f":numref:`{word}`", f".. index:: pair: {word}", f".. only:: ({word}", f".. rst-class::", f"http://127.0.0.1:9/{word}"]))
        write(f"{name}.rst", "\n\n".join(parts) + "\n")
    write("index.rst", "Shop\n====\n\n.. toctree::\n\n   " + "\n   ".join(r.sample(names, 6)) + f"\n   none{turn}\n")
    if turn % 3 == 2:
        os.unlink(f"docs/{r.choice(names)}.rst")
    for builder in [["html", "latex"], ["text", "html"], ["man", "dummy"], ["html", "gettext"], ["epub", "html"], ["singlehtml", "linkcheck"], ["html", "texinfo"], ["json", "doctest"], ["xml", "html"], ["changes", "html"]][turn]:
        with contextlib.suppress(BaseException):
            main(["-b", builder, "-vv" if turn % 2 else "-v", "-d", "cache", "docs", f"out-{builder}", "-D", "root_doc=index"])
"""

TOPICS = r"""
import contextlib, logging, random
from gensim import corpora, models, similarities, utils
from gensim.models.callbacks import PerplexityMetric
from gensim.models.phrases import Phrases
r = random.Random(15)
words = [a + b for a in "ba be bi do du fa fe go ka ke lo lu ma mi no pa re ru sa ti".split() for b in "bad den fil gor kam lin mor nus pel rit sol tan ver wix".split()]
def texts(count):
    return [[r.choice(words[number % 7 * 40:][:60]) for _ in range(r.randrange(5, 40))] for number in range(count)]
for turn in range(5):
    documents = texts(r.randrange(200, 900))
    dictionary = corpora.Dictionary(documents, prune_at=[None, 200, 250, 2000000, 150][turn])
    dictionary.filter_extremes(no_below=turn, no_above=0.9, keep_n=r.randrange(150, 260))
    dictionary.add_documents(texts(30))
    dictionary.merge_with(corpora.Dictionary(texts(20)))
    dictionary.filter_n_most_frequent(turn + 1)
    dictionary.compactify()
    dictionary.save_as_text(f"dictionary{turn}.txt")
    bags = [dictionary.doc2bow(text) for text in documents]
    corpora.MmCorpus.serialize(f"corpus{turn}.mm", bags)
    corpora.SvmLightCorpus.serialize(f"corpus{turn}.svm", bags)
    corpora.BleiCorpus.serialize(f"corpus{turn}.lda", bags, id2word=dictionary)
    corpora.LowCorpus.serialize(f"corpus{turn}.low", bags, id2word=dictionary)
    corpora.UciCorpus.serialize(f"corpus{turn}.uci", bags, id2word=dictionary)
    corpus = corpora.MmCorpus(f"corpus{turn}.mm")
    weights = models.TfidfModel(corpus, id2word=dictionary)
    lsi = models.LsiModel(weights[corpus], id2word=dictionary, num_topics=3 + turn, chunksize=100, onepass=turn != 2)
    lsi.add_documents(bags[:40])
    lsi.print_topics()
    lda = models.LdaModel(corpus, id2word=dictionary, num_topics=4 + turn, passes=2, chunksize=150, eval_every=2, iterations=5 + 20 * turn, alpha=["auto", "symmetric", "asymmetric", "auto", "auto"][turn],
        eta=["auto", None, "auto", None, None][turn], callbacks=[PerplexityMetric(corpus=bags[:30], logger="shell")] if turn == 1 else None)
    lda.update(bags[:50])
    lda.show_topics(num_topics=3, log=True)
    lda.log_perplexity(bags[:40])
    lda.save(f"lda{turn}")
    models.LdaModel.load(f"lda{turn}")
    word2vec = models.Word2Vec(documents, vector_size=10, min_count=1 + turn, epochs=2, workers=2, sg=turn % 2, hs=turn % 2, max_vocab_size=None if turn % 2 else 200, max_final_vocab=None if turn else 150)
    word2vec.train(documents[:50], total_examples=50, epochs=1 + turn)
    word2vec.build_vocab(texts(40), update=True)
    word2vec.save(f"word2vec{turn}")
    models.Word2Vec.load(f"word2vec{turn}")
    word2vec.wv.save_word2vec_format(f"vectors{turn}.txt")
    models.KeyedVectors.load_word2vec_format(f"vectors{turn}.txt", limit=None if turn % 2 else 30)
    with contextlib.suppress(Exception):
        word2vec.wv.doesnt_match([r.choice(words), r.choice(words), "absent"])
        word2vec.wv.most_similar(positive=["absent"])
    tagged = [models.doc2vec.TaggedDocument(text, [number]) for number, text in enumerate(documents[:150])]
    models.Doc2Vec(tagged, vector_size=8, min_count=2, epochs=2, dm=turn % 2, workers=1)
    models.FastText(documents[:120], vector_size=8, min_count=1, epochs=1, bucket=500 + turn)
    Phrases(documents, min_count=2, threshold=0.5, max_vocab_size=400 if turn else 40000000).export_phrases()
    models.HdpModel(corpus, dictionary, T=10, K=3, chunksize=200)
    models.RpModel(corpus, num_topics=5)
    models.LogEntropyModel(bags[:60])
    models.Nmf(corpus, num_topics=3, id2word=dictionary, passes=1, chunksize=100, w_max_iter=10, h_max_iter=10)
    index = similarities.Similarity(f"index{turn}", weights[corpus], num_features=len(dictionary), shardsize=120)
    index[bags[0]]
    index.add_documents(bags[:30])
    index.save(f"index{turn}.pickle")
    similarities.MatrixSimilarity(lsi[corpus][:30] if False else [lsi[bag] for bag in bags[:30]], num_features=9)
    similarities.SparseMatrixSimilarity(bags[:30], num_features=len(dictionary)).save(f"sparse{turn}")
    with contextlib.suppress(Exception):
        models.CoherenceModel(model=lda, texts=documents, dictionary=dictionary, coherence=["c_v", "c_npmi", "u_mass", "c_uci", "c_v"][turn], processes=1).get_coherence()
    models.AuthorTopicModel(bags[:60], author2doc={name: list(range(number, 60, 5)) for number, name in enumerate("ann bob cid dan eve".split())}, id2word=dictionary, num_topics=3, chunksize=20, passes=1)
    models.LdaSeqModel(corpus=bags[:40], id2word=dictionary, time_slice=[20, 20], num_topics=2, passes=1, em_max_iter=2, lda_inference_max_iter=2) if turn == 3 else None
    with contextlib.suppress(Exception):
        models.EnsembleLda(corpus=bags[:60], id2word=dictionary, num_topics=3, num_models=2, passes=1, random_state=1) if turn == 4 else None
"""

PROGRAMS = {
    "crawler": CRAWLER,
    "fonts": FONTS,
    "figures": FIGURES,
    "installer": INSTALLER,
    "database": DATABASE,
    "server": SERVER,
    "tasks": TASKS,
    "mail": MAIL,
    "cloud": CLOUD,
    "timers": TIMERS,
    "pipelines": PIPELINES,
    "web": WEB,
    "ssh": SSH,
    "machines": MACHINES,
    "builder": BUILDER,
    "docs": DOCS,
    "topics": TOPICS,
}
PACKAGES = {
    "tasks": "celery",
    "mail": "aiosmtpd",
    "cloud": "botocore",
    "timers": "apscheduler tornado",
    "pipelines": "luigi",
    "web": "gunicorn",
    "ssh": "asyncssh",
    "machines": "asyncua",
    "builder": "setuptools wheel",
    "docs": "sphinx",
    "topics": "gensim",
}
"""Packages of the second group of programs, for `pip install --target FOLDER`."""
CHOOSING = ("crawler", "figures", "installer", *PACKAGES)
"""Programs on which rules may be chosen; the others are sealed."""

HOOK = r"""
import json, logging, os, sys
source, output = sys.argv[1:3]
sys.argv = ["program"]
# Processes that the program forks append to the same file.
rows = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
class Record(logging.LogRecord):
    def __init__(self, name, level, pathname, lineno, msg, args, *rest, **more):
        super().__init__(name, level, pathname, lineno, msg, args, *rest, **more)
        try:
            row = [f"{pathname}:{lineno}", str(msg), bool(self.args), self.getMessage()]
            os.write(rows, json.dumps(row).encode() + b"\n")
        except Exception:
            pass
logging.setLogRecordFactory(Record)
logging.getLogger().setLevel(logging.DEBUG)
logging.getLogger().addHandler(logging.NullHandler())
exec(compile(open(source).read(), "program", "exec"), {"__name__": "__main__"})
"""


def run(source: str, packages: Path | None = None) -> list[tuple[str, str, bool, str]]:
    """Run a program; return place, format, whether it has arguments, and message of each of its log records.

    `packages` is a folder of `pip install --target` that is searched first.
    """
    first = [str(packages)] if packages else []
    with tempfile.TemporaryDirectory() as folder:
        work, program, output = Path(folder) / "work", Path(folder) / "program.py", Path(folder) / "records.json"
        work.mkdir()
        program.write_text(source, encoding="utf-8")
        call = [sys.executable, "-c", HOOK, str(program), str(output)]
        env = os.environ | ({"PYTHONPATH": os.pathsep.join(first)} if first else {})
        done = subprocess.run(call, cwd=work, env=env, capture_output=True, text=True, check=False)
        if not output.exists():
            raise SystemExit(done.stderr[-3000:])
        text = output.read_text(encoding="utf-8")
    libraries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = {str(work), sys.prefix, folder, str(Path.home()), sys.base_prefix, *libraries, *first}
    for prefix in sorted(folders, key=len, reverse=True):
        if len(prefix) > 4:
            text = text.replace(prefix, "/srv").replace(prefix.lstrip("/"), "srv")
    return [tuple(json.loads(line)) for line in text.splitlines()]


def records(name: str, rows: list[tuple[str, str, bool, str]]) -> list[dict[str, Any]]:
    """Return the records whose template is known, at most 400 or 60 of an event, in a random order."""
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
        if name in PACKAGES and len(message) > MAX_CHARACTERS_SECOND:
            continue
        counts[template] += 1
        if counts[template] <= (MAX_LINES_SECOND if name in PACKAGES else MAX_LINES):
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
    options = common.arguments(
        __doc__,
        ("--only", {"choices": list(PROGRAMS), "help": "run only this program"}),
        ("--packages", {"type": Path, "help": "a folder of `pip install --target` with the packages of PACKAGES"}),
    )
    results = read() if PATH.exists() else {}
    for name, source in PROGRAMS.items():
        if options.only not in (None, name):
            continue
        if name in PACKAGES and options.packages is None:
            raise SystemExit(f"{name} needs --packages FOLDER; run pip install --target FOLDER {PACKAGES[name]}")
        results[name] = records(name, run(source, options.packages))
        events = collections.Counter(record["event"] for record in results[name])
        print(f"{name:10} {len(results[name]):6} lines, {len(events):4} events")
    write(PATH, {name: results[name] for name in PROGRAMS if name in results})


if __name__ == "__main__":
    main()
