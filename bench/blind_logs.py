"""Logs for a blind test of templates: `bench/data/blind_logs.jsonl.gz`.

    PYTHONPATH=$PWD/python:LIBRARIES python bench/blind_logs.py [--only NAME]

Real programs run with the hook of `program_logs.py`, so that each line's template is the format of its logging call.
Their authors wrote the texts, and whoever wrote this file had not read the miner. Only loopback addresses are used.
The other sources are generated from templates in the manner of known systems, with the rules of `log_sources.py`. The
n-th template of a source is chosen with a weight of n^-1.2, so that some events are rare.

The first sources:

- programs: *bans*: log files watched for attacks (fail2ban); *calendar*: a CalDAV server (radicale); *objects*: an
  object database (ZEO, ZODB); *jobs*: task queues (dramatiq, huey); *chat*: a Matrix server (synapse)
- generated: *directory* (OpenLDAP), *switch* (Cisco IOS), *leases* (ISC dhcpd) and *game* (a Minecraft server)

After a measurement of all, rules were chosen on them: they are `CHOOSING`. The second sources were written then, again
by someone who had not read the miner:

- programs: *fieldbus*: drives on a virtual CAN bus (canopen); *workers*: a cluster of workers (distributed);
  *binaries*: programs that are disassembled and executed symbolically (angr); *tracker*: an issue tracker with a Git
  repository (Trac); *notebooks*: a notebook server with its kernels (jupyter_server)
- generated: *servicing* (updates of Windows), *kubelet* (Kubernetes), *appserver* (Tomcat, Spring, WebLogic), *phone*
  (Android) and *torus* (the events of a Blue Gene supercomputer)

The errors of four of those were read after a measurement, and they joined `CHOOSING`. The third sources were written
then, once more by someone who had not read the miner:

- generated: *scheduler* (Slurm), *steps* (a step counter with fields between bars), *compute* (the services of
  OpenStack), *voice* (Asterisk) and *hub* (a smart home)

The errors of two of those were read in the same way, and later those of all second and third sources. The fourth
sources were written then, again by someone who had
not read the miner:

- programs: *bot*: a chat bot on an IRC server (sopel); *accessories*: smart-home devices and their controller (HAP-python,
  aiohomekit, zeroconf); *flows*: workflows of command-line tools (cwltool)
- generated: *engine* (Elasticsearch), *documents* (the JSON lines of MongoDB), *firewall* (Cisco ASA, netfilter, pfSense),
  *laptop* (the kernel of a Linux laptop), *storage* (Ceph), *payments* (a payment gateway) and *baggage* (the controllers
  of an airport's baggage system)

The fifth sources were written after that, again by someone who had not read the miner. Each is of a system that many
people run and that no other source has, with as many hosts, users and names as one installation has:

- generated: *tables* (the error log of MySQL), *audit* (the records of auditd), *shop* (a Rails application with its
  jobs), *containers* (logfmt of containerd and Docker), *metrics* (logfmt of Prometheus, Alertmanager, Loki and Grafana),
  *partitions* (Kafka's brokers and clients), *perimeter* (firewalls: pairs of FortiGate and comma-separated fields of
  Palo Alto), *domain* (security events of Windows as one line of text) and *relay* (Rust services that log with the
  spans of tracing)

After a measurement the errors of seven of the fourth and four of the fifth sources were read. What is sealed chose no
rule.

`LIBRARIES` are folders into which pip installed radicale, ZEO, dramatiq, huey and matrix-synapse; canopen, distributed,
Trac, multipart and `setuptools<81`; angr, `bitstring<4.3` and `pycparser==3.0`; jupyter_server, ipykernel and
nbconvert; sopel; `HAP-python[QRCode]` and aiohomekit; cwltool; and the folder of Debian's fail2ban. Ports are chosen at
random, and threads race: a second run gives other lines.
"""

# The programs and templates are texts: lines of logs, and sources that nobody imports.
# ruff: noqa: E501

from __future__ import annotations

import collections
import random
import re
import uuid
from typing import Any

import common
import log_sources
import program_logs

PATH = common.DATA / "blind_logs.jsonl.gz"
FIRST = ("bans", "calendar", "objects", "jobs", "chat", "directory", "switch", "leases", "game")
"""The first sources, which have more lines."""
SECOND = (
    "fieldbus",
    "workers",
    "binaries",
    "tracker",
    "notebooks",
    "servicing",
    "kubelet",
    "appserver",
    "phone",
    "torus",
)
THIRD = ("scheduler", "steps", "compute", "voice", "hub")
LATER = (
    "flows",
    "engine",
    "documents",
    "firewall",
    "storage",
    "payments",
    "baggage",
    "audit",
    "shop",
    "containers",
    "domain",
)
CHOOSING = (*FIRST, *SECOND, *THIRD, *LATER)
"""Sources whose errors were read after a blind test, so that rules may be chosen on them; the others are sealed."""
MAX_LINES = 2500
"""Lines of a program, so that the file stays small: `program_logs.records` returns them in a random order."""
FOURTH = ("engine", "documents", "firewall", "laptop", "storage", "payments", "baggage")
"""The generated sources among the fourth ones."""
FIFTH = ("tables", "audit", "shop", "containers", "metrics", "partitions", "perimeter", "domain", "relay")
"""The fifth sources, which are all generated."""
LINES_SECOND = 1000
"""Lines of a generated source that is not among the first ones."""
MAX_LINES_SECOND = 1500
"""Lines of a program of the second and fourth ones, at most 120 of an event."""
MAX_EVENT_SECOND = 120
MAX_SECONDS = 90
"""A program of the second and fourth ones ends then."""

BANS = r"""
import logging, os, random, time
from fail2ban.server.server import Server
logging.getLogger("fail2ban").setLevel(logging.DEBUG)
r = random.Random(12)
server = Server(False)
ask = server._Server__transm.proceed
JAILS = {"sshd": (r"^.*sshd\[\d+\]: Failed password for \S+ from <HOST> port \d+", 3),
         "nginx-auth": (r'^<HOST> - - .* 401 \d+$', 5), "smtp": (r"^.*auth failed: user=<F-USER>\S+</F-USER> ip=<ADDR>$", 4)}
ask(["set", "dbfile", "bans.sqlite3"])
for name, (regex, limit) in JAILS.items():
    open(f"{name}.log", "w").close()
    for command in (["add", name, "polling"], ["set", name, "usedns", "no"], ["set", name, "maxretry", str(limit)],
                    ["set", name, "findtime", "60"], ["set", name, "bantime", "2"], ["set", name, "addfailregex", regex],
                    ["set", name, "bantime.increment", "true"], ["set", name, "addignoreip", "127.0.0.0/8", "10.1.0.0/16"],
                    ["set", name, "addignoreregex", "monitor"], ["set", name, "addlogpath", f"{name}.log", "tail"],
                    ["set", name, "addaction", "dummy"], ["set", name, "action", "dummy", "actionban", "echo ban <ip> <failures>"],
                    ["set", name, "action", "dummy", "actionunban", "test <ip> != 9.9.9.9"],
                    ["set", name, "action", "dummy", "actionstart", "echo start"],
                    ["set", name, "action", "dummy", "actionstop", "echo stop"]):
        ask(command)
    ask(["start", name])
hosts = [".".join(str(r.randrange(1, 250)) for _ in range(4)) for _ in range(40)] + ["127.0.0.1", "10.1.2.3", "2001:db8::7"]
users = "root admin ann bob git postgres test ubuntu oracle".split()
weak = hosts[:14]
for number in range(200):
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - (4000 if number % 31 == 0 else 0)))
    host = r.choice(weak if number % 3 else hosts)
    with open("sshd.log", "a") as file:
        print(f"{stamp} gate sshd[{r.randrange(400, 9999)}]: Failed password for {r.choice(users)} from {host} port {r.randrange(1024, 65000)}", file=file)
        if number % 19 == 0:
            print("garbage without a time", "monitor" if number % 2 else "", file=file)
    with open("nginx-auth.log", "a") as file:
        print(f'{r.choice(hosts)} - - [{stamp}] "GET /admin/{r.choice(users)} HTTP/1.1" {r.choice([401, 200, 401])} {r.randrange(99, 9000)}', file=file)
    with open("smtp.log", "a") as file:
        print(f"{stamp} mx auth failed: user={r.choice(users)} ip={r.choice(hosts)}", file=file)
    time.sleep(0.09)
    if number % 25 == 7:
        ask(["set", "sshd", "banip", r.choice(hosts)])
        ask(["set", "smtp", "unbanip", r.choice(hosts)])
        ask(["set", "sshd", "nonsense", "1"])
        ask(["set", "absent", "bantime", "1"])
        ask(["set", "nginx-auth", "addfailregex", "("])
        ask(["set", "smtp", "action", "dummy", "actionban", r.choice(["false", "exit 3", "no-such-program <ip>", "echo <ip>", "sleep 5"])])
        ask(["set", "smtp", "action", "dummy", "timeout", "1"])
        ask(["set", "smtp", "addlogpath", f"missing{number}.log", "tail"])
    if number % 60 == 59:
        os.rename("sshd.log", f"sshd.log.{number}")
        open("sshd.log", "w").close()
        ask(["set", "nginx-auth", "addlogpath", f"sshd.log.{number}", "tail"])
        ask(["set", "nginx-auth", "dellogpath", f"sshd.log.{number}"])
        ask(["status", "sshd"])
for name in JAILS:
    ask(["unban", "--all"]) if name == "smtp" else None
    ask(["stop", name])
server.quit()
"""

CALENDAR = r"""
import base64, http.client, random, socket, threading, time
from radicale import config, server
from radicale.log import logger
r = random.Random(13)
port = 9000 + random.SystemRandom().randrange(9000)
open("users", "w").write("ann:a1\nbob:b2\ncid:c3\n")
open("rights", "w").write("[own]\nuser: .+\ncollection: {user}(/.*)?\npermissions: RrWw\n[root]\nuser: .*\ncollection:\npermissions: R\n")
settings = config.load()
settings.update({"server": {"hosts": f"127.0.0.1:{port}", "timeout": "2", "max_content_length": "6000"}, "auth": {"type": "htpasswd", "htpasswd_filename": "users",
    "htpasswd_encryption": "plain", "delay": "0.01"}, "rights": {"type": "from_file", "file": "rights"},
    "storage": {"filesystem_folder": "store"}, "logging": {"level": "debug", "request_header_on_debug": "false", "rights_rule_doesnt_match_on_debug": "true"}}, "program", privileged=True)
near, far = socket.socketpair()
thread = threading.Thread(target=server.serve, args=(settings, far), daemon=True)
thread.start()
time.sleep(1.5)
def call(method, path, body="", user="ann", password="a1", **headers):
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    auth = base64.b64encode(f"{user}:{password}".encode()).decode()
    try:
        client.request(method, path, body.encode(), {"Authorization": f"Basic {auth}", "User-Agent": r.choice(AGENTS), **headers})
        answer = client.getresponse()
        answer.read()
    except OSError:
        pass
    finally:
        client.close()
AGENTS = ["DAVx5/4.3", "Thunderbird/115.4", "iOS/17.1 dataaccessd/1.0", "curl/8.4"]
WORDS = "standup lunch review dentist train call party exam".split()
PASSWORDS = {"ann": "a1", "bob": "b2", "cid": "c3", "eve": "x"}
for user in ("ann", "bob", "cid"):
    for name in ("work", "home"):
        call("MKCALENDAR", f"/{user}/{name}/", user=user, password=PASSWORDS[user])
for number in range(260):
    user = r.choice(list(PASSWORDS))
    password = PASSWORDS[user] if number % 8 else "wrong"
    owner, name, uid = r.choice([user, user, "bob"]), r.choice(["work", "home", "missing"]), f"{r.randrange(60)}-{r.choice(WORDS)}"
    path = f"/{owner}/{name}/{uid}.ics"
    event = (f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nBEGIN:VEVENT\r\nUID:{uid}\r\nDTSTAMP:20260101T000000Z\r\n"
             f"DTSTART:202601{r.randrange(10, 28)}T0{r.randrange(9)}0000Z\r\nSUMMARY:{r.choice(WORDS)}\r\n"
             + (f"RRULE:FREQ=DAILY;COUNT={r.randrange(2, 20)}\r\n" if number % 5 == 0 else "")
             + "END:VEVENT\r\nEND:VCALENDAR\r\n")
    kind = r.randrange(11)
    if kind <= 3:
        call("PUT", path, event if number % 6 else r.choice(["BEGIN:VCAL", event[:90], "x" * 7000, event * 2]), user, password)
    elif kind == 4:
        call("GET", path, user=user, password=password)
    elif kind == 5:
        call("DELETE", path, user=user, password=password, **{"If-Match": r.choice(["*", '"abc"'])})
    elif kind == 6:
        body = r.choice(['<propfind xmlns="DAV:"><allprop/></propfind>', '<propfind xmlns="DAV:"><prop><getetag/></prop></propfind>', "<broken"])
        call("PROPFIND", f"/{owner}/{name}/", body, user, password, Depth=r.choice(["0", "1"]))
    elif kind == 7:
        body = ('<c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop><d:getetag/><c:calendar-data/></d:prop><c:filter>'
                f'<c:comp-filter name="VCALENDAR"><c:comp-filter name="VEVENT"><c:time-range start="202601{r.randrange(10, 20)}T000000Z" end="20260128T000000Z"/>'
                "</c:comp-filter></c:comp-filter></c:filter></c:calendar-query>")
        call("REPORT", f"/{owner}/{name}/", body if number % 4 else '<d:sync-collection xmlns:d="DAV:"><d:sync-token>http://radicale.org/ns/sync/'
             f"{r.randrange(16**8):064x}</d:sync-token><d:prop><d:getetag/></d:prop></d:sync-collection>", user, password)
    elif kind == 8:
        call("MOVE", path, user=user, password=password, Destination=r.choice([f"http://127.0.0.1:{port}/{owner}/home/{uid}2.ics", "http://other.example/x"]))
    elif kind == 9:
        call(r.choice(["OPTIONS", "HEAD", "POST", "BREW", "MKCOL"]), r.choice(["/", "/.web/", "/.well-known/caldav", f"/{user}/x{number}/"]), user=user, password=password)
    else:
        call("PROPPATCH", f"/{owner}/{name}/", '<d:propertyupdate xmlns:d="DAV:"><d:set><d:prop><d:displayname>'
             f"{r.choice(WORDS)}</d:displayname></d:prop></d:set></d:propertyupdate>", user, password)
with socket.create_connection(("127.0.0.1", port)) as client:
    client.sendall(b"nonsense\r\n\r\n")
    client.recv(99)
with socket.create_connection(("127.0.0.1", port)) as client:
    client.sendall(b"GET / HTTP/1.1\r\n")
    time.sleep(2.5)
near.close()
thread.join(9)
"""

OBJECTS = r"""
import random, socket, time
import transaction, ZODB, ZEO
from ZODB.POSException import ConflictError
from BTrees.OOBTree import OOBTree
r = random.Random(15)
def names(size):
    return "".join(r.choice("abcdefgh") for _ in range(size))
address, stop = ZEO.server(path="data.fs", threaded=True)
host, port = address
databases = [ZEO.DB((host, port), wait_timeout=5) for _ in range(3)]
with databases[0].transaction() as connection:
    connection.root.table = OOBTree()
for number in range(150):
    managers = [transaction.TransactionManager() for _ in range(2)]
    connections = [databases[r.randrange(3)].open(manager) for manager in managers]
    for manager, connection in zip(managers, connections):
        try:
            key = f"key{r.randrange(30)}"
            connection.root.table[key] = names(r.randrange(1, 5000))
            if number % 9 == 0:
                raise KeyError(key)
            manager.commit()
        except (ConflictError, KeyError):
            manager.abort()
        finally:
            connection.close()
    if number % 40 == 20:
        databases[0].pack()
    if number % 30 == 7:
        with socket.create_connection((host, port)) as client:
            client.sendall(r.choice([b"\x00\x00\x00\x04junk", b"GET / HTTP/1.0\r\n\r\n", b"\x00\x00\x00\x03Z99"]))
            time.sleep(0.2)
    if number % 25 == 13:
        databases[2].close()
        databases[2] = ZEO.DB((host, port), wait_timeout=5)
for database in databases[:1]:
    database.close()
stop()
time.sleep(1)
for database in databases[1:]:
    try:
        database.close()
    except Exception:
        pass
try:
    ZEO.client((host, 9), wait_timeout=2)
except Exception:
    pass
"""

JOBS = r"""
import random, time
import dramatiq
from dramatiq.brokers.stub import StubBroker
from huey import SqliteHuey, crontab
from huey.exceptions import CancelExecution, RetryTask
r = random.Random(17)
broker = StubBroker()
dramatiq.set_broker(broker)
@dramatiq.actor(max_retries=2, min_backoff=10, max_backoff=40, queue_name="mails")
def send(number, to):
    if number % 6 == 0:
        raise ConnectionError(f"refused by {to}")
@dramatiq.actor(max_retries=1, min_backoff=10, throws=(KeyError,), queue_name="reports")
def report(number):
    if number % 5 == 0:
        raise KeyError(number)
@dramatiq.actor(time_limit=300, max_retries=0, max_age=60000)
def slow(number):
    end = time.monotonic() + (1.5 if number % 4 == 0 else 0.01)
    while time.monotonic() < end:
        time.sleep(0.01)
worker = dramatiq.Worker(broker, worker_threads=2)
worker.start()
for number in range(120):
    send.send(number, f"{r.choice(['ann', 'bob', 'cid'])}@example.org")
    report.send_with_options(args=(number,), delay=r.choice([None, 30, 200]))
    if number % 12 == 0:
        slow.send(number // 12)
for queue in ("mails", "reports", "default"):
    broker.join(queue, fail_fast=False, timeout=20000)
worker.pause(), worker.resume(), worker.stop()
huey = SqliteHuey("jobs", filename="jobs.sqlite3", results=True)
@huey.task(retries=2, retry_delay=0)
def resize(number):
    if number % 7 == 0:
        raise ValueError(f"bad image {number}")
    if number % 11 == 0:
        raise CancelExecution()
    if number % 13 == 0:
        raise RetryTask(delay=0)
    return number
@huey.task(expires=1)
def clean(path):
    time.sleep(0.02)
@huey.task()
@huey.lock_task("import")
def load(number):
    time.sleep(0.05)
@huey.periodic_task(crontab(minute="*"))
def tick():
    pass
@huey.pre_execute()
def before(task):
    if task.name == "clean" and task.args and task.args[0].endswith("9"):
        raise CancelExecution()
@huey.on_startup()
def opened():
    pass
consumer = huey.create_consumer(workers=3, periodic=True, scheduler_interval=1, backoff=1.1, initial_delay=0.01, max_delay=0.05, check_worker_health=True, health_check_interval=1)
for number in range(150):
    task = resize(number)
    clean(f"/var/spool/{r.choice(['in', 'out'])}/{r.randrange(300)}")
    load(number) if number % 5 == 0 else None
    resize.schedule(args=(number,), delay=r.choice([1, 2])) if number % 9 == 0 else None
    task.revoke() if number % 10 == 0 else None
consumer._set_signal_handlers = lambda: None
consumer.start()
time.sleep(9)
consumer.stop(graceful=True)
"""

CHAT = r"""
import json, os, random, subprocess, sys, threading, time, urllib.error, urllib.request, signal, logging
r = random.Random(18)
port = 10000 + random.SystemRandom().randrange(9000)
subprocess.run([sys.executable, "-m", "synapse.app.homeserver", "--server-name", "chat.example.org", "--report-stats=no", "--generate-config",
                "-c", "server.yaml"], check=True)
import yaml
settings = yaml.safe_load(open("server.yaml"))
settings["listeners"] = [{"port": port, "type": "http", "bind_addresses": ["127.0.0.1"], "resources": [{"names": ["client", "federation"], "compress": False}]}]
settings |= {"enable_registration": True, "enable_registration_without_verification": True, "suppress_key_server_warning": True, "trusted_key_servers": [],
             "federation_domain_whitelist": [], "rc_login": {"failed_attempts": {"per_second": 0.5, "burst_count": 3}}, "rc_registration": {"per_second": 90, "burst_count": 90},
             "rc_message": {"per_second": 20, "burst_count": 60}, "rc_joins": {"local": {"per_second": 9, "burst_count": 30}}, "media_store_path": "media", "url_preview_enabled": False}
yaml.safe_dump({"version": 1, "root": {"level": "INFO"}, "loggers": {"synapse.storage": {"level": "INFO"}}, "disable_existing_loggers": False}, open(settings["log_config"], "w"))
yaml.safe_dump(settings, open("server.yaml", "w"))
NAMES = "ann bob cid dan eve fay".split()
WORDS = "hello deploy lunch broken fixed today ticket thanks".split()
tokens, rooms = {}, []
def call(method, path, body=None, token=None):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/_matrix/{path}", method=method, data=None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode())
    request.add_header("User-Agent", r.choice(["Element/1.11", "curl/8.4", "Fluffy/2.0"]))
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        return json.loads(error.read() or b"{}") if "json" in error.headers.get("Content-Type", "") else {}
    except Exception:
        return {}
def drive():
    for _ in range(200):
        if call("GET", "client/versions"):
            break
        time.sleep(0.2)
    for name in NAMES:
        for auth in ({}, {"auth": {"type": "m.login.dummy"}}):
            tokens[name] = call("POST", "client/v3/register", {"username": name, "password": f"secret-{name}", **auth}).get("access_token")
        if name < "d":
            call("POST", "client/v3/register", {"username": name, "password": "again", "auth": {"type": "m.login.dummy"}})
    def act(number):
        name = r.choice(NAMES)
        token = tokens[name]
        kind = r.randrange(15)
        room = r.choice(rooms) if rooms else "!none:chat.example.org"
        if kind == 0 or len(rooms) < 3:
            answer = call("POST", "client/v3/createRoom", {"name": r.choice(WORDS), "preset": r.choice(["public_chat", "private_chat"]), "room_alias_name": f"{r.choice(WORDS)}{r.randrange(30)}",
                          "invite": [f"@{r.choice(NAMES)}:chat.example.org"]}, token)
            rooms.extend([answer["room_id"]] if "room_id" in answer else [])
        elif kind <= 4:
            call("PUT", f"client/v3/rooms/{room}/send/m.room.message/{number}", {"msgtype": "m.text", "body": " ".join(r.choices(WORDS, k=4))} if number % 9 else b"{broken", token)
        elif kind == 5:
            call("POST", f"client/v3/join/{room}", {}, token)
        elif kind == 6:
            call("POST", "client/v3/login", {"type": "m.login.password", "identifier": {"type": "m.id.user", "user": name}, "password": r.choice([f"secret-{name}", "wrong"])})
        elif kind == 7:
            call("GET", f"client/v3/sync?timeout={r.choice([0, 100])}", None, token if number % 5 else "bad")
        elif kind == 8:
            call("POST", f"client/v3/rooms/{room}/{r.choice(['leave', 'kick', 'ban', 'invite'])}", {"user_id": f"@{r.choice(NAMES)}:chat.example.org"}, token)
        elif kind == 9:
            call("PUT", f"client/v3/profile/@{name}:chat.example.org/displayname", {"displayname": f"{name} {r.randrange(9)}"}, token)
        elif kind == 10:
            call("GET", r.choice([f"client/v3/rooms/{room}/messages?dir=b&limit=9", f"client/v3/rooms/{room}/state", "client/v3/publicRooms", "client/v3/nothing", f"client/v3/directory/room/%23none{number}:chat.example.org"]), None, token)
        elif kind == 11:
            call("POST", "media/v3/upload?filename=a.txt", os.urandom(r.randrange(10, 4000)), token)
        elif kind == 12:
            call("POST", f"client/v3/rooms/{room}/receipt/m.read/$none{number}", {}, token)
            call("PUT", f"client/v3/rooms/{room}/typing/@{name}:chat.example.org", {"typing": True, "timeout": 3000}, token)
        elif kind == 13:
            call("POST", "client/v3/keys/upload", {"device_keys": {}, "one_time_keys": {f"signed_curve25519:{number}": {"key": "x"}}}, token)
            call("GET", "client/v3/pushrules/", None, token)
        else:
            call("PUT", "federation/v1/send/1", {"pdus": []})
            call("POST", f"client/v3/join/%23room:far{number % 5}.example.net", {}, token)
    try:
        threads = [threading.Thread(target=lambda start=start: [act(number) for number in range(start, 420, 2)]) for start in range(2)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    finally:
        time.sleep(3)
        from twisted.internet import reactor
        reactor.callFromThread(reactor.stop)
threading.Thread(target=drive, daemon=True).start()
sys.argv = ["synapse", "-c", "server.yaml"]
from synapse.app.homeserver import main
logging.getLogger().setLevel(logging.INFO)
main()
"""

FIELDBUS = r"""
import can, canopen, logging, os, random, struct, threading, time
from canopen import objectdictionary as od
r = random.Random(23)
def dictionary():
    result = canopen.ObjectDictionary()
    def add(index, name, kind, subs=(), default=0):
        if subs:
            record = od.ODRecord(name, index)
            for number, (sub, sub_kind) in enumerate(subs, 1):
                variable = od.ODVariable(sub, index, number)
                variable.data_type, variable.default, variable.access_type = sub_kind, default, "rw"
                record.add_member(variable)
            zero = od.ODVariable("Number of entries", index, 0)
            zero.data_type, zero.default = od.UNSIGNED8, len(subs)
            record.add_member(zero)
            result.add_object(record)
        else:
            variable = od.ODVariable(name, index, 0)
            variable.data_type, variable.default, variable.access_type = kind, default, "rw"
            result.add_object(variable)
    add(0x1000, "Device type", od.UNSIGNED32)
    add(0x1001, "Error register", od.UNSIGNED8)
    add(0x1005, "COB-ID SYNC", od.UNSIGNED32, default=0x80)
    add(0x1008, "Device name", od.VISIBLE_STRING, default="drive")
    add(0x1014, "COB-ID EMCY", od.UNSIGNED32, default=0x80)
    add(0x1017, "Producer heartbeat time", od.UNSIGNED16)
    for number in range(2):
        for base, kind in ((0x1400, "RPDO"), (0x1800, "TPDO")):
            add(base + number, f"{kind} {number} communication", 0, [("COB-ID", od.UNSIGNED32), ("Type", od.UNSIGNED8), ("Inhibit", od.UNSIGNED16), ("Reserved", od.UNSIGNED8), ("Event timer", od.UNSIGNED16)])
            add(base + 0x200 + number, f"{kind} {number} mapping", 0, [(f"Map {entry}", od.UNSIGNED32) for entry in range(1, 9)])
    add(0x6040, "Controlword", od.UNSIGNED16)
    add(0x6041, "Statusword", od.UNSIGNED16)
    add(0x6060, "Modes of operation", od.INTEGER8)
    add(0x6061, "Modes of operation display", od.INTEGER8)
    add(0x6502, "Supported drive modes", od.UNSIGNED32, default=0x3ff)
    add(0x6098, "Homing method", od.INTEGER8)
    add(0x2000, "Text", od.VISIBLE_STRING)
    add(0x2001, "Blob", od.DOMAIN)
    add(0x2002, "Speed", od.INTEGER32)
    add(0x2003, "Ratio", od.REAL32)
    return result
master, bus = canopen.Network(), canopen.Network()
for network in (master, bus):
    network.connect("plant", interface="virtual", receive_own_messages=False)
locals_ = [bus.create_node(number, dictionary()) for number in (2, 5, 17)]
from canopen.profiles.p402 import BaseNode402
nodes = [master.add_node(BaseNode402(number, dictionary())) for number in (2, 5, 17, 40)]
for node in nodes:
    node.sdo.RESPONSE_TIMEOUT, node.sdo.MAX_RETRIES = 0.1, 1
def attempt(action, *args, **kwargs):
    try:
        return action(*args, **kwargs)
    except Exception as error:
        return error
for step in range(110):
    node, local = r.choice(nodes if step % 6 == 0 else nodes[:3]), r.choice(locals_)
    kind = r.randrange(13)
    if kind == 0:
        attempt(node.sdo.download, 0x2000, 0, bytes(r.choices(b"abcdefgh", k=r.randrange(1, 60))))
        attempt(node.sdo.upload, 0x2000, 0)
    elif kind == 1:
        def blob():
            with node.sdo["Blob"].open("wb", size=300, block_transfer=step % 2 == 0) as file:
                file.write(os.urandom(300))
        attempt(blob)
    elif kind == 2:
        attempt(node.sdo.upload, r.choice([0x3000, 0x1F51, 0x1018]), r.randrange(4))
    elif kind == 3:
        attempt(lambda: setattr(node.sdo["Speed"], "raw", r.randrange(-9000, 9000)))
        attempt(lambda: node.sdo["Ratio"].raw)
        attempt(lambda: node.sdo["Device name"].raw)
    elif kind == 4:
        node.nmt.state = r.choice(["OPERATIONAL", "PRE-OPERATIONAL", "STOPPED", "RESET", "RESET COMMUNICATION", "INITIALISING"])
    elif kind == 5:
        local.nmt.start_heartbeat(r.choice([20, 50, 100]))
        attempt(node.nmt.wait_for_heartbeat, 0.1)
        local.nmt.stop_heartbeat()
    elif kind == 6:
        local.emcy.send(r.choice([0x2310, 0x4210, 0x8130, 0xFF01]), r.randrange(8), os.urandom(5))
        local.emcy.reset()
    elif kind == 7:
        def map_values():
            node.tpdo.read()
            pdo = node.tpdo[r.randrange(1, 3)]
            pdo.clear()
            for name in r.sample(["Statusword", "Speed", "Modes of operation display", "Ratio"], r.randrange(1, 4)):
                pdo.add_variable(name)
            pdo.trans_type, pdo.event_timer, pdo.enabled = r.choice([1, 254, 255]), r.choice([0, 10, 100]), step % 3 > 0
            pdo.cob_id = 0x180 + 0x100 * (step % 2) + node.id
            pdo.save()
        attempt(map_values)
        attempt(node.rpdo.read)
    elif kind == 8:
        master.sync.start(0.01); time.sleep(0.03); master.sync.stop()
        master.send_message(r.choice([0x180, 0x701, 0x582, 0x605]), os.urandom(r.randrange(0, 9)))
    elif kind == 9:
        master.scanner.search(9)
        time.sleep(0.02)
    elif kind == 10:
        attempt(node.setup_402_state_machine, r.choice([True, False]))
        attempt(lambda: setattr(node, "op_mode", r.choice(["PROFILED POSITION", "HOMING", "TORQUE"])))
        attempt(lambda: setattr(node, "state", r.choice(["SWITCHED ON", "OPERATION ENABLED"])))
    elif kind == 11:
        attempt(master.lss.send_switch_state_global, r.choice([0, 1]))
        attempt(master.lss.inquire_node_id)
        attempt(master.lss.fast_scan) if step % 3 == 0 else None
        attempt(lambda: struct.unpack("<I", node.sdo.upload(0x1000, 0)))
    else:
        local.sdo["Statusword"].raw = r.choice([0x40, 0x21, 0x27, 0x8])
        attempt(local.sdo.abort, 0x08000000) if hasattr(local.sdo, "abort") else None
        attempt(lambda: setattr(local.sdo["Producer heartbeat time"], "raw", r.choice([0, 40])))
        attempt(node.store) or attempt(node.restore)
        attempt(node.nmt.start_node_guarding, 0.02); time.sleep(0.05); attempt(node.nmt.stop_node_guarding)
for network in (master, bus):
    network.disconnect()
os._exit(0)
"""

WORKERS = r"""
import asyncio, logging, os, random, time
import dask
dask.config.set({"distributed.logging": {"distributed": "debug"}, "distributed.worker.daemon": False, "distributed.comm.timeouts.connect": "5s",
                 "distributed.scheduler.worker-ttl": "4s", "distributed.worker.memory.monitor-interval": "200ms", "distributed.scheduler.active-memory-manager.start": True,
                 "distributed.scheduler.active-memory-manager.interval": "500ms", "distributed.scheduler.work-stealing-interval": "50ms", "distributed.admin.tick.limit": "300ms",
                 "distributed.worker.memory.terminate": False, "distributed.worker.memory.spill": 0.5, "distributed.worker.memory.target": 0.4, "distributed.worker.memory.pause": 0.7,
                 "distributed.p2p.comm.buffer": "1 MiB", "distributed.scheduler.allowed-failures": 1})
from distributed import Client, Event, Lock, Nanny, Queue, Scheduler, Semaphore, Variable, Worker, get_worker, worker_client
for name in list(logging.root.manager.loggerDict):
    if name.startswith("distributed"):
        logging.getLogger(name).setLevel(logging.DEBUG)
logging.getLogger("distributed").setLevel(logging.DEBUG)
r = random.Random(22)
def double(number): time.sleep(0.002); return 2 * number
def fail(number): raise ValueError(f"bad number {number}")
def large(number): return bytes(number)
def slow(number): time.sleep(number); return number
def crash(number): os._exit(3)
def inner(number):
    with worker_client() as client:
        return sum(client.gather(client.map(double, range(number))))
class Unpicklable:
    def __reduce__(self): raise TypeError("not this")
def unpicklable(): return Unpicklable()
class Plugin:
    name = "timer"
    def setup(self, worker): pass
    def teardown(self, worker): raise RuntimeError("teardown")
    def transition(self, key, start, finish, **kwargs):
        if finish == "error": raise KeyError(key)
async def main():
    async with Scheduler(port=0, host="127.0.0.1", dashboard=False) as scheduler:
        workers = [await Worker(scheduler.address, nthreads=2, name=name, memory_limit=limit, local_directory="local") for name, limit in (("alice", "4GB"), ("bob", "900MB"), (3, "2GB"))]
        nanny = await Nanny(scheduler.address, nthreads=1, name="nanny", memory_limit="300MB", local_directory="local")
        async with Client(scheduler.address, asynchronous=True) as client:
            from distributed.diagnostics.plugin import WorkerPlugin
            await client.register_plugin(type("Timer", (Plugin, WorkerPlugin), {})(), name="timer")
            for step in range(26):
                futures = client.map(double, [r.random() for _ in range(r.randrange(2, 40))])
                futures += client.map(fail, [step], retries=step % 2)
                futures += client.map(large, [r.randrange(10**5, 9 * 10**6) for _ in range(4)], pure=False)
                await asyncio.wait([asyncio.ensure_future(client.gather(futures, errors="skip"))], timeout=20)
                if step % 4 == 1:
                    await client.rebalance()
                    await client.replicate(futures[:3], n=2)
                    await client.cancel(futures[:2])
                if step % 5 == 2:
                    worker = await Worker(scheduler.address, nthreads=1, name=f"extra{step}", local_directory="local")
                    held = client.map(slow, [0.4, 0.3], workers=[worker.address], pure=False)
                    await asyncio.sleep(0.1)
                    if step % 2: await worker.close(nanny=False)
                    else: await client.retire_workers([worker.address])
                    await asyncio.wait([asyncio.ensure_future(client.gather(held, errors="skip"))], timeout=5)
                if step % 6 == 3:
                    try: await client.submit(unpicklable, workers=["alice"])
                    except Exception: pass
                    try: await asyncio.wait_for(client.submit(crash, step, workers=["nanny"], pure=False), 15)
                    except BaseException: pass
                    try: await asyncio.wait_for(client.submit(inner, step + 2, pure=False), 8)
                    except BaseException: pass
                if step % 8 == 5:
                    lock = Lock(f"lock{step}"); await lock.acquire(timeout=1); await lock.release()
                    semaphore = await Semaphore(2, name=f"limit{step}"); await semaphore.acquire(); await semaphore.release()
                    queue = Queue(f"queue{step}", maxsize=3); await queue.put(step); await queue.get()
                    variable = Variable(f"variable{step}"); await variable.set(futures[0]); variable.delete()
                    event = Event(f"event{step}"); await event.set()
                    await client.run_on_scheduler(lambda: 1)
                    try: await client.run(fail, step)
                    except Exception: pass
                    await client.publish_dataset(**{f"set{step}": futures})
                    try: await client.get_dataset("missing")
                    except KeyError: pass
                    _, writer = await asyncio.open_connection("127.0.0.1", scheduler.port)
                    writer.write(b"GET / HTTP/1.1\r\n\r\n"); writer.close()
                if step == 14:
                    try: await asyncio.wait_for(client.restart(timeout=15), 20)
                    except BaseException: pass
                    await workers.pop().close(reason="leave")
                del futures
        await nanny.close()
        for worker in workers: await worker.close()
asyncio.run(asyncio.wait_for(main(), 150))
"""

BINARIES = r"""
import glob, logging, os, random
import angr, claripy
from angr.misc import loggers
r = random.Random(21)
for name in list(logging.root.manager.loggerDict):
    if name.split(".")[0] in ("angr", "cle", "claripy", "pyvex", "archinfo", "ailment"):
        logging.getLogger(name).setLevel(logging.DEBUG)
logging.getLogger().setLevel(logging.DEBUG)
FILES = [path for path in ("/bin/true", "/bin/kill", "/bin/mktemp", "/usr/bin/tty") if os.path.exists(path)]
for path in FILES[:2]:
    project = angr.Project(path, auto_load_libs=path == FILES[0])
    cfg = project.analyses.CFGFast(normalize=True)
    project.analyses.CompleteCallingConventions(recover_variables=True)
    functions = [function for function in project.kb.functions.values() if not function.is_plt and not function.is_simprocedure]
    for function in r.sample(functions, min(12, len(functions))):
        try:
            project.analyses.Decompiler(function, cfg=cfg.model)
        except Exception:
            pass
    state = project.factory.full_init_state(args=[path, claripy.BVS("arg", 32)])
    manager = project.factory.simulation_manager(state)
    manager.run(n=25)
"""

TRACKER = r"""
import io, logging, os, random, threading, urllib.parse
from trac.admin.console import TracAdmin
from trac.env import open_environment
from trac.web.main import dispatch_request
import tracopt.perm.authz_policy, tracopt.ticket.clone, tracopt.ticket.commit_updater, tracopt.ticket.deleter
import tracopt.versioncontrol.git.git_fs, trac.admin.web_ui, trac.search.web_ui, trac.wiki.admin, trac.timeline.web_ui, trac.prefs.web_ui
r = random.Random(25)
console = TracAdmin(os.path.abspath("env"))
console.onecmd("initenv Plant sqlite:db/trac.db")
os.system("git init -q repo && cd repo && git config user.email a@example.org && git config user.name ann && for n in 1 2 3 4 5 6; do echo $n > f$n; git add . ; git commit -q -m \"change $n refs #$n\"; done")
env = open_environment("env", use_cache=True)
for section, key, value in (("logging", "log_type", "file"), ("logging", "log_level", "DEBUG"), ("trac", "debug_sql", "false"), ("trac", "default_charset", "utf-8"), ("notification", "smtp_enabled", "true"),
        ("notification", "smtp_port", "9"), ("notification", "smtp_server", "127.0.0.1"), ("notification", "smtp_always_cc", "list@example.org bob none@nowhere"), ("notification", "always_notify_owner", "true"),
        ("notification", "always_notify_reporter", "true"), ("components", "tracopt.*", "enabled"), ("components", "trac.missing.*", "enabled"), ("trac", "permission_policies", "DefaultWikiPolicy, DefaultTicketPolicy, DefaultPermissionPolicy, LegacyAttachmentPolicy"),
        ("repositories", "main.dir", os.path.abspath("repo/.git")), ("repositories", "main.type", "git"), ("repositories", "lost.dir", "/nowhere"), ("repositories", "lost.type", "git"), ("git", "cached_repository", "true"),
        ("ticket-workflow", "odd", "new -> closed"), ("ticket-workflow", "odd.operations", "leave_status,set_nothing")):
    env.config.set(section, key, value)
env.config.save()
env.shutdown()
logging.getLogger().setLevel(logging.DEBUG)
for command in ("permission add anonymous TICKET_ADMIN WIKI_ADMIN MILESTONE_ADMIN", "permission add ann TRAC_ADMIN", "permission add team ann", "repository resync main", "repository resync lost", "component add engine bob",
        "changeset added main HEAD", "changeset added lost 12", "wiki upgrade", "session add bob Bob bob@example.org", "session add eve Eve", "milestone add m1", "version add 1.0", "hotcopy copy", "repository list", "permission remove bob NOTHING", "deploy site", "upgrade"):
    try:
        TracAdmin(os.path.abspath("env")).onecmd(command)
    except Exception:
        pass
cookies = {}
def call(method, path, query="", user=None, body=b"", kind="application/x-www-form-urlencoded", **headers):
    environ = {"REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query, "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http",
               "REMOTE_ADDR": f"10.1.2.{r.randrange(1, 99)}", "wsgi.input": io.BytesIO(body), "wsgi.errors": io.StringIO(), "wsgi.multithread": True, "wsgi.multiprocess": False, "wsgi.run_once": False, "CONTENT_LENGTH": str(len(body)),
               "CONTENT_TYPE": kind, "trac.env_path": os.path.abspath("env"), "HTTP_COOKIE": cookies.get(user, ""), **headers}
    if user:
        environ["REMOTE_USER"] = user
    found = []
    def start(status, pairs, error=None):
        found.extend(pairs)
        return lambda data: None
    try:
        for _ in dispatch_request(environ, start) or []:
            pass
    except Exception:
        pass
    fresh = [value.split(";")[0] for name, value in found if name.lower() == "set-cookie"]
    if fresh:
        merged = dict(pair.split("=", 1) for pair in cookies.get(user, "").split("; ") if pair) | dict(pair.split("=", 1) for pair in fresh)
        cookies[user] = "; ".join(f"{name}={value}" for name, value in merged.items())
def token(user):
    return dict(pair.split("=", 1) for pair in cookies.get(user, "").split("; ") if pair).get("trac_form_token", "none")
WORDS = "crash slow login export broken menu crop typo".split()
for step in range(150):
    user = r.choice([None, "ann", "bob", "eve"])
    kind = r.randrange(14)
    def post(path, **fields):
        call("POST", path, user=user, body=urllib.parse.urlencode({"__FORM_TOKEN": token(user) if step % 9 else "wrong", **fields}).encode())
    if kind <= 2:
        call("GET", "/newticket", user=user)
        post("/newticket", field_summary=f"{r.choice(WORDS)} {r.choice(WORDS)}", field_reporter=r.choice(["ann", "bob", "x@example.org"]), field_owner=r.choice(["bob", "eve", "ann"]), field_type="defect",
             field_cc=r.choice(["", "bob, eve", "list@example.org; nobody"]), field_description=f"see wiki:{r.choice(WORDS).title()}Page and #{r.randrange(20)} [[Image(x.png)]] [[NoMacro({step})]] {{{{{{#!python\nprint(1)\n}}}}}} {{{{{{#!nothing\nx\n}}}}}}", submit="Create ticket")
    elif kind <= 4:
        number = r.randrange(1, 14)
        call("GET", f"/ticket/{number}", user=user)
        post(f"/ticket/{number}", action=r.choice(["leave", "resolve", "accept", "reassign", "odd", "none"]), comment=" ".join(r.choices(WORDS, k=3)), action_resolve_resolve_resolution="fixed", submit="Submit changes", start_time="0", view_time="0", field_summary=f"{r.choice(WORDS)}")
    elif kind == 5:
        page = f"{r.choice(WORDS).title()}Page"
        call("GET", f"/wiki/{page}", r.choice(["", "version=1", "version=77", "action=diff&version=2", "action=history", "format=txt"]), user)
        post(f"/wiki/{page}", action="edit", text=f"= {page}\n[[TitleIndex]] [[TicketQuery(id={step})]] [[RecentChanges(x,y)]] [/wiki {page}]", version=str(r.randrange(4)), save="Submit changes", comment=r.choice(WORDS))
    elif kind == 6:
        call("GET", "/search", f"q={r.choice(WORDS)}&noquickjump={step % 2}&ticket=on&wiki=on", user)
    elif kind == 7:
        call("GET", r.choice(["/timeline", "/roadmap", "/query", "/report", f"/report/{r.randrange(1, 12)}", "/about", "/admin", "/prefs"]), r.choice(["", "format=rss", "daysback=99", "order=none&status=!closed"]), user)
    elif kind == 8:
        call("GET", r.choice(["/browser/main", "/browser/main/f1", "/browser/lost", "/changeset/HEAD/main", "/log/main/f2", f"/changeset/{step}/main", "/browser/none"]), r.choice(["", "rev=abcdef", "annotate=blame"]), user)
    elif kind == 9:
        call(r.choice(["GET", "HEAD", "BREW"]), r.choice([f"/nothing/{step}", "/chrome/common/css/trac.css", "/chrome/site/none.png", f"/ticket/{step}{step}", "/attachment/wiki/WikiStart/x.txt", "/login", "/logout", "/favicon.ico"]), user=user, HTTP_IF_NONE_MATCH='"x"')
    elif kind == 10:
        boundary = f"b{step}"
        body = "".join(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{value}\r\n' for name, more, value in (("__FORM_TOKEN", "", token(user)), ("action", "", "new"), ("attachment", f'; filename="{r.choice(WORDS)}.{r.choice(["txt", "py", "png"])}"', "x" * r.randrange(1, 900)), ("description", "", "y"))) + f"--{boundary}--\r\n"
        call("POST", r.choice(["/attachment/wiki/WikiStart/", f"/attachment/ticket/{r.randrange(1, 9)}/"]), user=user, body=body.encode(), kind=f"multipart/form-data; boundary={boundary}")
        call("GET", f"/attachment/wiki/WikiStart/{r.choice(WORDS)}.py", user=user)
    elif kind == 11:
        post("/prefs", action="save", name=f"{user}", email=f"{user}@example.org", tz=r.choice(["UTC", "Nowhere/X"]), language=r.choice(["de", "zz"]))
        post("/prefs/advanced", newsid=f"session{step}", action="change")
        post("/prefs/advanced", loadsid=f"session{r.randrange(step + 1)}", restore="Restore")
    elif kind == 12:
        call("GET", f"/admin/{r.choice(['general/logging', 'general/plugin', 'general/perm', 'ticket/components', 'versioncontrol/repository', 'none/none'])}", user=user)
        post("/admin/general/logging", log_type=r.choice(["file", "none", "syslog", "zzz"]), log_level=r.choice(["DEBUG", "INFO"]), log_file="trac.log")
        post("/admin/general/perm", subject=r.choice(["bob", "eve"]), action=r.choice(["WIKI_ADMIN", "BAD"]), add="1")
    else:
        env.config.set("notification", "smtp_port", str(r.randrange(2, 9)))
        env.config.set("header_logo", "alt", str(step)); env.config.save()
        call("GET", f"/ticket/{r.randrange(1, 14)}", r.choice(["format=csv", "format=tab", "format=zzz", "replyto=1", "action=clone"]), user)
os._exit(0)
"""

NOTEBOOKS = r"""
import json, logging, os, random, sys, threading, time, urllib.error, urllib.request
from jupyter_server.serverapp import ServerApp
import websocket
r = random.Random(27)
port = 20000 + random.SystemRandom().randrange(20000)
os.environ |= {"JUPYTER_PLATFORM_DIRS": "1", "HOME": os.path.abspath("."), "JUPYTER_CONFIG_DIR": os.path.abspath("config"), "JUPYTER_DATA_DIR": os.path.abspath("data"), "JUPYTER_RUNTIME_DIR": os.path.abspath("runtime")}
for folder in ("config", "data/kernels/broken", "data/kernels/python3", "data/kernels/odd", "books"):
    os.makedirs(folder)
open("data/kernels/python3/kernel.json", "w").write(json.dumps({"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3", "language": "python"}))
open("data/kernels/broken/kernel.json", "w").write(json.dumps({"argv": ["/no/such/program", "{connection_file}"], "display_name": "Broken", "language": "x"}))
open("data/kernels/odd/kernel.json", "w").write("{bad")
WORDS = "intro data plots model report notes draft final".split()
def book(*cells):
    return {"cells": [{"cell_type": "code", "id": f"c{number}", "execution_count": None, "metadata": {}, "outputs": [], "source": source} for number, source in enumerate(cells)], "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}, "nbformat": 4, "nbformat_minor": 5}
for name in WORDS[:4]:
    open(f"books/{name}.ipynb", "w").write(json.dumps(book("1 + 1", "print('x')")))
open("books/bad.ipynb", "w").write("{")
open("books/old.ipynb", "w").write(json.dumps({"cells": [{"cell_type": "code", "source": 3}], "metadata": {}, "nbformat": 4, "nbformat_minor": 2}))
def call(method, path, body=None, token="secret", **headers):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method, data=None if body is None else json.dumps(body).encode() if not isinstance(body, bytes) else body, headers=headers | ({"Authorization": f"token {token}"} if token else {}))
    try:
        with urllib.request.urlopen(request, timeout=15) as answer:
            return json.loads(answer.read() or b"{}")
    except Exception:
        return {}
def drive():
    for _ in range(100):
        if call("GET", "/api"):
            break
        time.sleep(0.2)
    kernels = []
    for step in range(420):
        kind, name = r.randrange(15), f"{r.choice(WORDS)}{r.choice(['', '', step])}.{r.choice(['ipynb', 'ipynb', 'txt'])}"
        if kind == 0:
            call("GET", f"/api/contents/{r.choice([name, 'bad.ipynb', 'old.ipynb', '', '.hidden', '../up'])}?content=1&hash={step % 2}&type={r.choice(['file', 'notebook', 'directory'])}")
        elif kind <= 2:
            call("PUT", f"/api/contents/{name}", r.choice([{"type": "notebook", "format": "json", "content": book(f"{step}")}, {"type": "file", "format": "text", "content": "x" * step}, {"type": "notebook", "format": "json", "content": {"cells": [{}]}}, {"type": "file", "format": "base64", "content": "???"}, b"{bad", {"type": "directory"}]))
        elif kind == 3:
            call("POST", "/api/contents", r.choice([{"type": "notebook"}, {"type": "file", "ext": ".py"}, {"copy_from": name}, {"type": "directory"}]))
        elif kind == 4:
            call("PATCH", f"/api/contents/{name}", {"path": f"{r.choice(WORDS)}-{step}.ipynb"})
            call("DELETE", f"/api/contents/{r.choice([name, f'{r.choice(WORDS)}-{step}.ipynb', 'missing.txt'])}")
        elif kind == 5:
            call("POST", f"/api/contents/{name}/checkpoints")
            points = call("GET", f"/api/contents/{name}/checkpoints")
            for point in points if isinstance(points, list) else []:
                call(r.choice(["POST", "DELETE"]), f"/api/contents/{name}/checkpoints/{r.choice([point['id'], 'none'])}")
        elif kind == 6 and len(kernels) < 3:
            answer = call("POST", "/api/sessions", {"path": name, "type": "notebook", "name": name, "kernel": {"name": r.choice(["python3", "python3", "broken", "none", "lost"])}})
            kernels.extend([(answer["id"], answer["kernel"]["id"])] if "kernel" in answer else [])
        elif kind <= 8 and kernels:
            session, kernel = r.choice(kernels)
            try:
                client = websocket.create_connection(f"ws://127.0.0.1:{port}/api/kernels/{kernel}/channels?session_id=s{step % 3}&token=secret", timeout=3)
                for number in range(r.randrange(1, 4)):
                    client.send(json.dumps({"channel": r.choice(["shell", "control", "shell", "odd"]), "header": {"msg_id": f"m{step}-{number}", "msg_type": "execute_request" if step % 4 else "kernel_info_request", "session": "s", "username": "ann", "date": "2026-11-01T00:00:00Z", "version": "5.3"}, "parent_header": {}, "metadata": {}, "content": {"code": f"print('{'x' * step}' * {r.choice([1, 9000])}); 1/{step % 2}", "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}}))
                    try: client.recv()
                    except Exception: pass
                client.close()
            except Exception:
                pass
        elif kind == 9 and kernels:
            session, kernel = r.choice(kernels)
            call("POST", f"/api/kernels/{kernel}/{r.choice(['interrupt', 'restart'])}")
        elif kind == 10 and kernels:
            session, kernel = kernels.pop()
            call("DELETE", r.choice([f"/api/sessions/{session}", f"/api/kernels/{kernel}"]))
        elif kind == 11:
            call("GET", r.choice(["/api/kernelspecs", "/api/kernels", "/api/sessions", "/api/status", "/api/terminals", "/api/config/notebook", "/kernelspecs/python3/logo.png", f"/api/kernels/{step}", f"/nothing/{step}"]))
            call("PATCH", "/api/config/notebook", {"load": {str(step): True}})
        elif kind == 12:
            call("GET", f"/api/contents/{name}", None, r.choice([None, "wrong"]), Origin="http://evil.example", Host=r.choice(["127.0.0.1", "evil.example"]))
            call("POST", "/login?next=//evil.example", b"password=x", None)
        elif kind == 13:
            call("GET", f"/nbconvert/{r.choice(['html', 'python', 'markdown', 'nothing'])}/{r.choice(WORDS[:4])}.ipynb")
            call("GET", f"/files/{name}?download=1")
            call("GET", f"/api/contents/{name}", None, "secret", **{"If-None-Match": "x"})
        else:
            answer = call("POST", "/api/terminals")
            if "name" in answer:
                call("DELETE", f"/api/terminals/{r.choice([answer['name'], 'none'])}")
            if kernels and step % 2:
                from jupyter_server.serverapp import ServerApp
                manager = ServerApp.instance().kernel_manager
                process = getattr(manager.get_kernel(kernels[-1][1]).provisioner, "process", None)
                process and process.kill()
                time.sleep(1)
    call("POST", "/api/shutdown")
    time.sleep(5)
    os._exit(0)
threading.Thread(target=drive, daemon=True).start()
ServerApp.launch_instance(["--port", str(port), "--ip", "127.0.0.1", "--no-browser", "--allow-root", "--debug", "--IdentityProvider.token=secret", "--ServerApp.root_dir=" + os.path.abspath("books"), "--MappingKernelManager.cull_idle_timeout=6", "--MappingKernelManager.cull_interval=2",
    "--MappingKernelManager.kernel_info_timeout=4", "--ZMQChannelsWebsocketConnection.iopub_msg_rate_limit=20", "--ZMQChannelsWebsocketConnection.iopub_data_rate_limit=20000", "--KernelRestarter.time_to_dead=0.5", "--ServerApp.log_level=DEBUG", "--FileContentsManager.use_atomic_writing=True", "--ServerApp.allow_remote_access=False"])
"""

BOT = r"""
import asyncio, os, random, threading, types
import requests
class Offline(requests.adapters.BaseAdapter):
    def send(self, request, **options): raise requests.exceptions.ConnectionError(f"no route to {request.url}")
    def close(self): pass
start = requests.Session.__init__
def offline(self):
    start(self)
    self.mount("https://", Offline()); self.mount("http://", Offline())
requests.Session.__init__ = offline
import dns.resolver
def resolve(host, *rest, **more):
    if "t" in host.partition(".")[0]: raise dns.resolver.NXDOMAIN()
    return [types.SimpleNamespace(to_text=lambda: "127.0.0.1")]
dns.resolver.resolve = resolve
r = random.Random(41)
NAMES = "ann bob cid dan eve fay gus".split()
WORDS = "deploy lunch ticket broken fixed today build release thanks kubernetes".split()
os.makedirs("plugins")
open("plugins/queue.py", "w").write("from sopel import plugin\n@plugin.command('queue')\ndef queue(bot, trigger):\n    bot.say(f'{len(trigger.group(2) or \"\")} waiting')\n@plugin.interval(1)\ndef tick(bot):\n    pass\n@plugin.command('crash')\ndef crash(bot, trigger):\n    raise ValueError(trigger.group(2))\n@plugin.rate(user=60)\n@plugin.command('slow')\ndef slow(bot, trigger):\n    bot.reply('ok')\n@plugin.interval(9)\ndef broken(bot):\n    raise KeyError('queue')\n")
open("plugins/bad.py", "w").write("import nothing_here\n")
open("plugins/late.py", "w").write("def setup(bot):\n    raise RuntimeError('no database')\n")
settings = "[core]\nnick = helper\nhost = 127.0.0.1\nport = {port}\nowner = ann\nowner_account = ann\nadmins = bob\nhomedir = {home}\nlogdir = logs\nlogging_level = DEBUG\nuse_ssl = false\nchannels =\n    \"#ops\"\n    \"#dev key\"\n    \"#secret\"\nflood_burst_lines = 40\nflood_refill_rate = 40\ntimeout = 60\ntimeout_ping_interval = 4\nextra = ./plugins\nexclude = emoticons\nnick_blocks = gus\nhost_blocks = bad.*\\.example\n{auth}modes = Bx\nalias_nicks = helper2\nenable_reload = yes\n[safety]\ndefault_mode = local\n"
class Server:
    def __init__(self, reader, writer): self.reader, self.writer, self.nick, self.refused = reader, writer, "helper", False
    def send(self, text): self.writer.write(text.encode() + b"\r\n")
    def mask(self, name): return f"{name}!~{name}@{'bad7' if name == 'fay' else name}.host.example"
    def join(self, channel):
        self.send(f":{self.mask(self.nick)} JOIN {channel} helper :Helper")
        self.send(f":irc.example 332 {self.nick} {channel} :{r.choice(WORDS)} {r.choice(WORDS)}")
        self.send(f":irc.example 353 {self.nick} = {channel} :" + " ".join(f"{r.choice(['', '@', '+', '~&'])}{self.mask(name)}" for name in NAMES) + f" @{self.nick}")
        self.send(f":irc.example 366 {self.nick} {channel} :End of /NAMES list.")
    async def run(self):
        task = asyncio.ensure_future(self.chatter())
        try:
            while line := await self.reader.readline():
                self.answer(line.decode().rstrip())
                await self.writer.drain()
        except ConnectionError:
            pass
        task.cancel()
        self.writer.close()
    def answer(self, line):
        command, *rest = line.split(" ")
        if line.startswith("CAP LS"):
            self.send(":irc.example CAP * LS * :account-notify account-tag away-notify cap-notify chghost extended-join invite-notify")
            self.send(f":irc.example CAP * LS :multi-prefix userhost-in-names echo-message message-tags server-time sasl={r.choice(['PLAIN', 'PLAIN,EXTERNAL'])} draft/chathistory=100")
        elif line.startswith("CAP REQ"):
            wanted = line.partition(":")[2]
            self.send(f":irc.example CAP {self.nick} {'NAK' if 'invite' in wanted else 'ACK'} :{wanted}")
        elif command == "AUTHENTICATE":
            self.send("AUTHENTICATE +" if rest[0].isupper() and len(rest[0]) < 20 else f":irc.example {'903 ' + self.nick + ' :SASL authentication successful'}")
        elif command == "NICK":
            if rest[0].lstrip(":") == "helper" and not self.refused:
                self.refused = True
                self.send(":irc.example 433 * helper :Nickname is already in use.")
            else:
                self.nick = rest[0].lstrip(":")
        elif line == "CAP END":
            self.send(f":irc.example 001 {self.nick} :Welcome to the example network {self.nick}")
            self.send(f":irc.example 004 {self.nick} irc.example shop-2.1 BDHIRWagh ABCDEF bklov")
            self.send(f":irc.example 005 {self.nick} CHANTYPES=# PREFIX=(qaohv)~&@%+ CHANMODES=beI,k,l,imnpst MODES=4 NETWORK=Example BOT=B WHOX NICKLEN=20 TARGMAX=JOIN:,PRIVMSG:4 UTF8ONLY :are supported by this server")
            self.send(f":irc.example 375 {self.nick} :- Message of the day")
            self.send(f":irc.example 376 {self.nick} :End of /MOTD command.")
        elif command == "JOIN":
            for channel in rest[0].split(","):
                self.send(f":irc.example 475 {self.nick} {channel} :Cannot join channel (+k)") if channel == "#secret" else self.join(channel)
        elif command == "MODE" and len(rest) == 1:
            self.send(f":irc.example 324 {self.nick} {rest[0]} {r.choice(['+nt', '+ntk key', '+imnZ', '+ntl 30 x y'])}")
        elif command == "WHO":
            for name in NAMES[:4]:
                self.send(f":irc.example 354 {self.nick} 999 {rest[0]} ~{name} {name}.host.example {name} {r.choice(['H', 'G@', 'H*+', 'HB'])} {r.choice([name, '0'])} :{name} Example")
            self.send(f":irc.example 315 {self.nick} {rest[0]} :End of /WHO list.")
        elif command == "PING":
            self.send(f":irc.example PONG irc.example {rest[0]}") if r.random() < 0.9 else None
        elif command == "PART":
            self.send(f":{self.mask(self.nick)} PART {rest[0]} :bye")
        elif command == "QUIT":
            self.send("ERROR :Closing Link: 127.0.0.1 (Quit)")
            self.writer.close()
    async def chatter(self):
        await asyncio.sleep(2)
        for number in range(420):
            await asyncio.sleep(0.035)
            name, channel, word, kind = r.choice(NAMES), r.choice(["#ops", "#dev"]), r.choice(WORDS), r.randrange(26)
            source = f"@account={name};time=2026-11-28T00:00:00.000Z :{self.mask(name)}" if number % 3 else f":{self.mask(name)}"
            plugin = r.choice(["queue", "dice", "nothing", "late", "bad", "clock", "tell", "help"])
            if kind < 9:
                text = r.choice([f".tell {r.choice(NAMES)} {word} {word}", f".seen {r.choice(NAMES)}", f".calc {number} * {r.randrange(9)} / {r.randrange(2)}", f".dice {r.randrange(9)}d{number}", f".reload {plugin}", f".crash {word}", ".slow", f".queue {word}", f"{self.nick}: help", f"s/{word}/{r.choice(WORDS)}", f".choose {word}, {r.choice(WORDS)}", f".c {number}", f".u {word}", f".wikt {word}", f".w {word}", f".title http://{word}.example/{number}", f"http://{word}.example/x", ".t Europe/Nowhere", f".settz {name}", f".isup {word}.example", f".unknown {word}", f".safety {r.choice(['on', 'strict', 'x'])}", ".announce " + word, ".xkcd 1", f".exchange {number} usd eur", f".ttl {word}", ".uptime", ".version", ".py 1"])
                self.send(f"{source} PRIVMSG {channel if number % 5 else self.nick} :{text}")
            elif kind < 12:
                self.send(f"@account=ann :{self.mask('ann')} PRIVMSG {self.nick} :" + r.choice([f".reload {plugin}", f".load {plugin}", f".unload {plugin}", f".join #{word}", f".part #{word}", f".msg {channel} {word}", f".blocks add nick {name}", f".blocks list host", f".set core.{word} {number}", ".set core.flood_text x", f".mode +{word[0]}", ".save", f".raw NOTICE {name} :{word}", f".me {word}", f".kick {channel} {name}", ".plugins", ".find_updates"]))
            elif kind == 12: self.send(f":{self.mask('ann')} MODE {channel} {r.choice(['+o ' + name, '-v ' + name, '+ov ' + name + ' bob', '+b *!*@' + word, '+Z ' + name, '+k ' + word, '-l', '+n-t', '+o'])}")
            elif kind == 13: self.send(f":{self.mask(name)} JOIN {channel} {name} :{name} {word}")
            elif kind == 14: self.send(f":{self.mask(name)} PART {channel} :{word}")
            elif kind == 15: self.send(f":{self.mask(name)} QUIT :{r.choice(['irc.example hub.example', word, 'Ping timeout: 240 seconds'])}")
            elif kind == 16: self.send(f":{self.mask(name)} NICK {name}{number}")
            elif kind == 17: self.send(f":{self.mask('ann')} KICK {channel} {name if number % 4 else self.nick} :{word}")
            elif kind == 18: self.send(f":{self.mask(name)} TOPIC {channel} :{word} {word}")
            elif kind == 19: self.send(f":{self.mask(name)} {r.choice(['ACCOUNT ' + name, 'ACCOUNT *', 'AWAY :' + word, 'AWAY', 'CHGHOST x ' + word])}")
            elif kind == 20: self.send(f":irc.example CAP {self.nick} {r.choice(['NEW', 'DEL'])} :{word} account-tag")
            elif kind == 21: self.send(f":irc.example {r.choice(['473', '471', '477', '403', '437'])} {self.nick} #{word} :Cannot join channel")
            elif kind == 22: self.writer.write(r.choice([b"\xff\xfe\x00 broken \xc3\r\n", b":x\r\n" if number > 280 else b"\xe9\r\n", f":irc.example 324 {self.nick}\r\n".encode(), f":irc.example 353 {self.nick} = {channel} :{word}\r\n".encode(), f"PING :{word}\r\n".encode(), ":irc.example 730 x :\u00e9\r\n".encode("latin-1")]))
            elif kind == 23: self.send(f":{self.mask(name)} INVITE {self.nick} #{word}")
            elif kind == 24: self.send(f":{self.mask(name)} NOTICE {channel} :\x01{word} {number}\x01")
            else: self.send(f":{self.mask(name)} PRIVMSG {self.nick} :\x01{r.choice(['VERSION', 'PING 1', 'ACTION waves', 'TIME', 'SOURCE'])}\x01")
        self.send("ERROR :Closing Link (server restarts)") if r.random() < 0.5 else None
        self.writer.close()
started = threading.Event()
def serve():
    async def main():
        server = await asyncio.start_server(lambda *pair: Server(*pair).run(), "127.0.0.1", 0)
        serve.port = server.sockets[0].getsockname()[1]
        started.set()
        await server.serve_forever()
    asyncio.run(main())
threading.Thread(target=serve, daemon=True).start()
started.wait()
from sopel import bot, config
for turn, auth in enumerate(["", "auth_method = sasl\nauth_password = secret\nauth_username = helper\n", "auth_method = nickserv\nauth_password = secret\n"]):
    os.makedirs("logs", exist_ok=True)
    open(f"bot{turn}.cfg", "w").write(settings.format(port=serve.port if turn < 3 else 9, auth=auth, home=os.getcwd()))
    helper = bot.Sopel(config.Config(os.path.abspath(f"bot{turn}.cfg")))
    helper.setup()
    helper.run("127.0.0.1", serve.port)
helper = bot.Sopel(config.Config(os.path.abspath("bot0.cfg")))
helper.run("127.0.0.1", 9)
os._exit(0)
"""

ACCESSORIES = r"""
import asyncio, logging, os, random, socket
from zeroconf.asyncio import AsyncServiceBrowser, AsyncZeroconf
from pyhap.accessory import Accessory, Bridge
from pyhap.accessory_driver import AccessoryDriver
from pyhap import const
from aiohomekit.characteristic_cache import CharacteristicCacheFile
from aiohomekit.controller.ip.controller import IpController
from aiohomekit.zeroconf import ZeroconfServiceListener
logging.getLogger("zeroconf").setLevel(logging.DEBUG)
r = random.Random(43)
def port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]
class Lamp(Accessory):
    category = const.CATEGORY_LIGHTBULB
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        light = self.add_preload_service("Lightbulb", chars=["On", "Brightness"])
        self.on = light.configure_char("On", setter_callback=self.switch)
        self.bright = light.configure_char("Brightness", setter_callback=self.dim)
    def switch(self, value):
        if self.display_name.endswith("2") and value:
            raise RuntimeError("bulb is broken")
    def dim(self, value): pass
class Sensor(Accessory):
    category = const.CATEGORY_SENSOR
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.temperature = self.add_preload_service("TemperatureSensor").configure_char("CurrentTemperature", getter_callback=self.read)
        self.count = 0
    def read(self):
        self.count += 1
        if self.count % 9 == 0:
            raise ValueError("sensor does not answer")
        return 20 + self.count / 10
    @Accessory.run_at_interval(0.4)
    async def run(self):
        self.temperature.set_value(r.randrange(150, 260) / 10)
    async def stop(self): pass
class Lock(Accessory):
    category = const.CATEGORY_DOOR_LOCK
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        lock = self.add_preload_service("LockMechanism")
        self.target = lock.configure_char("LockTargetState", setter_callback=self.turn)
        self.state = lock.configure_char("LockCurrentState")
    def turn(self, value):
        self.state.set_value(value)
async def attempt(action, seconds=4):
    try:
        return await asyncio.wait_for(action, seconds)
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError): raise
        return None
async def main():
    loop = asyncio.get_running_loop()
    drivers, here = [], AsyncZeroconf(interfaces=["127.0.0.1"])
    for name, pin in (("Kitchen", b"031-45-154"), ("Garage door", b"482-91-573"), ("Attic", b"111-22-333")):
        driver = AccessoryDriver(loop=loop, address="127.0.0.1", port=port(), persist_file=f"{name}.state", pincode=pin, async_zeroconf_instance=AsyncZeroconf(interfaces=["127.0.0.1"]))
        if name == "Kitchen":
            bridge = Bridge(driver, name)
            for number in range(3): bridge.add_accessory(Lamp(driver, f"{r.choice(['Table lamp', 'Spot', 'Strip'])} {number}"))
            bridge.add_accessory(Sensor(driver, "Fridge"))
        else:
            bridge = (Lock if name == "Garage door" else Sensor)(driver, name)
        driver.add_accessory(bridge)
        await driver.async_start()
        drivers.append(driver)
    controller = IpController(char_cache=CharacteristicCacheFile(__import__("pathlib").Path("cache.json")), zeroconf_instance=here)
    browser = AsyncServiceBrowser(here.zeroconf, "_hap._tcp.local.", listener=ZeroconfServiceListener())
    await controller.async_start()
    await asyncio.sleep(2)
    pairings = {}
    for turn in range(3):
        for driver, pin in zip(drivers, ("031-45-154", "482-91-573", "111-22-333")):
            found = await attempt(controller.async_find(driver.state.mac, timeout=4), 6)
            if found is None: continue
            if turn == 0:
                await attempt(found.async_identify())
                finish = await attempt(found.async_start_pairing(driver.state.mac))
                await attempt(finish("000-11-000")) if finish else None
            finish = await attempt(found.async_start_pairing(driver.state.mac))
            if finish:
                pairing = await attempt(finish(pin))
                if pairing: pairings[driver.state.mac] = pairing
        for step in range(50):
            for mac, pairing in list(pairings.items()):
                accessories = await attempt(pairing.list_accessories_and_characteristics()) or []
                places = [(accessory["aid"], char["iid"], char) for accessory in accessories for service in accessory["services"] for char in service["characteristics"]]
                if not places: continue
                kind = r.randrange(11)
                some = r.sample(places, r.randrange(1, min(6, len(places))))
                if kind < 3: await attempt(pairing.get_characteristics([(a, i) for a, i, _ in some]))
                elif kind < 6: await attempt(pairing.put_characteristics([(a, i, r.choice([True, False, 1, 55, 240, "x"])) for a, i, char in places if "pw" in char["perms"]][: r.randrange(1, 4)]))
                elif kind == 6: await attempt(pairing.subscribe([(a, i) for a, i, char in places if "ev" in char["perms"]]))
                elif kind == 7: await attempt(pairing.unsubscribe([(a, i) for a, i, char in some if "ev" in char["perms"]]))
                elif kind == 8: await attempt(pairing.get_characteristics([(9, 900 + step), (1, 2)])); await attempt(pairing.list_pairings())
                elif kind == 9: await attempt(pairing.identify()); await attempt(pairing.async_populate_accessories_state(force_update=True))
                else: await attempt(pairing.image(1, 640, 480)); await attempt(pairing.add_pairing(f"0000000{step}-aaaa", "ab" * 32, r.choice(["User", "Admin"])))
            if step % 10 == 4:
                driver = r.choice(drivers)
                driver.config_changed()
                _, writer = await asyncio.open_connection("127.0.0.1", driver.state.port)
                writer.write(r.choice([b"GET /accessories HTTP/1.1\r\nHost: x\r\n\r\n", b"nonsense\r\n\r\n", b"POST /pair-verify HTTP/1.1\r\nContent-Length: 3\r\n\r\n\x06\x01\x09", b"PUT /characteristics HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", b"POST /nothing HTTP/1.1\r\nContent-Length: 0\r\n\r\n"]))
                await asyncio.sleep(0.2)
                writer.close()
            if step == 30:
                driver = drivers[turn]
                await driver.async_stop()
                await asyncio.sleep(0.6)
                driver.advertiser = AsyncZeroconf(interfaces=["127.0.0.1"])
                await driver.async_start()
        for mac, pairing in list(pairings.items()):
            if turn < 2 and r.random() < 0.7:
                await attempt(controller.remove_pairing(mac) if hasattr(controller, "remove_pairing") else pairing.remove_pairing(pairing.pairing_data["iOSPairingId"]))
                await attempt(pairing.close()); controller.pairings.pop(mac, None); controller.aliases.pop(mac, None)
                del pairings[mac]
    for pairing in pairings.values(): await attempt(pairing.close())
    for driver in drivers: await attempt(driver.async_stop())
    await controller.async_stop()
    await here.async_close()
asyncio.run(main())
os._exit(0)
"""

FLOWS = r"""
import contextlib, os, random, socket
def offline(host, *rest, **more): raise socket.gaierror(socket.EAI_AGAIN, f"no address of {host}")
socket.getaddrinfo = offline
import functools
from cwltool import load_tool, process
from cwltool.main import main
load_tool.process.get_schema = functools.lru_cache(None)(process.get_schema)
r = random.Random(47)
def write(name, text):
    with open(name, "w") as out: out.write(text)
TOOL = "cwlVersion: v1.2\nclass: CommandLineTool\nbaseCommand: {command}\n"
write("echo.cwl", TOOL.format(command="echo") + "inputs:\n  text: {type: string, inputBinding: {position: 1}}\n  times: {type: 'int?', inputBinding: {prefix: -n}}\noutputs:\n  out: {type: stdout}\nstdout: said.txt\nrequirements:\n  ResourceRequirement: {coresMin: 1, ramMin: 16}\n")
write("count.cwl", TOOL.format(command="[wc, -w]") + "inputs:\n  file: {type: File, inputBinding: {position: 1}, streamable: true}\noutputs:\n  out: {type: File, outputBinding: {glob: '*.txt'}}\nstdout: $(inputs.file.nameroot)-words.txt\nhints:\n  SoftwareRequirement: {packages: {wc: {version: ['9']}}}\n  EnvVarRequirement: {envDef: {LC_ALL: C}}\n")
write("fail.cwl", TOOL.format(command="[sh, -c, 'echo broken >&2; exit 3']") + "inputs: {code: 'int?'}\noutputs: {}\nsuccessCodes: [0]\ntemporaryFailCodes: [75]\n")
write("retry.cwl", TOOL.format(command="[sh, -c, 'exit 75']") + "inputs: []\noutputs: []\ntemporaryFailCodes: [75]\n")
write("slow.cwl", TOOL.format(command="[sleep, '3']") + "inputs: []\noutputs: []\nrequirements:\n  ToolTimeLimit: {timelimit: 1}\n  WorkReuse: {enableReuse: false}\n")
write("missing.cwl", TOOL.format(command="true") + "inputs: []\noutputs:\n  out: {type: File, outputBinding: {glob: 'none-*.dat'}}\n")
write("absent.cwl", TOOL.format(command="no-such-command") + "inputs: []\noutputs: []\n")
write("docker.cwl", TOOL.format(command="true") + "inputs: []\noutputs: []\nhints:\n  DockerRequirement: {dockerPull: 'registry.example/tools:1.2'}\n")
write("needs.cwl", TOOL.format(command="true") + "inputs: []\noutputs: []\nrequirements:\n  DockerRequirement: {dockerPull: 'registry.example/tools:1.2'}\n")
write("dirs.cwl", TOOL.format(command="[cp, -r]") + "inputs:\n  dir: {type: Directory, inputBinding: {position: 1}}\narguments: [{valueFrom: copy, position: 2}]\noutputs:\n  out: {type: Directory, outputBinding: {glob: copy}}\nrequirements:\n  InitialWorkDirRequirement: {listing: [{entryname: note.txt, entry: $(inputs.dir.basename)}]}\n")
write("unknown.cwl", TOOL.format(command="true") + "inputs: []\noutputs: []\nhints:\n  example:Odd: {x: 1}\n$namespaces: {example: 'http://odd.example/'}\nodd: 3\n")
write("invalid.cwl", "cwlVersion: v1.2\nclass: CommandLineTool\ninputs:\n  a: strin\noutputs: {x: {type: File, glob: y}}\n")
write("old.cwl", "cwlVersion: v9.9\nclass: CommandLineTool\ninputs: []\noutputs: []\n")
write("draft.cwl", "cwlVersion: v1.0\nclass: CommandLineTool\nbaseCommand: echo\ninputs:\n  text: {type: string, inputBinding: {}}\noutputs: []\n")
FLOW = "cwlVersion: v1.2\nclass: Workflow\nrequirements: {ScatterFeatureRequirement: {}, SubworkflowFeatureRequirement: {}, MultipleInputFeatureRequirement: {}, StepInputExpressionRequirement: {}}\n"
write("words.cwl", FLOW + "inputs: {texts: 'string[]', only: {type: boolean, default: true}}\noutputs:\n  counts: {type: 'File[]', outputSource: words/out}\nsteps:\n  say: {run: echo.cwl, scatter: text, in: {text: texts}, out: [out]}\n  words: {run: count.cwl, scatter: file, in: {file: say/out}, out: [out]}\n")
write("skip.cwl", FLOW + "inputs: {texts: 'string[]', run: {type: boolean, default: false}}\noutputs:\n  out: {type: ['null', File], outputSource: say/out, pickValue: all_non_null}\nsteps:\n  say: {run: echo.cwl, when: $(inputs.run), in: {text: {default: hi}, run: run}, out: [out]}\n")
write("outer.cwl", FLOW + "inputs: {texts: 'string[]'}\noutputs: []\nsteps:\n  inner: {run: words.cwl, in: {texts: texts}, out: [counts]}\n  stop: {run: fail.cwl, in: {}, out: []}\n  after: {run: retry.cwl, in: {}, out: []}\n")
write("loop.cwl", FLOW + "inputs: {texts: 'string[]'}\noutputs: []\nsteps:\n  a: {run: count.cwl, in: {file: b/out}, out: [out]}\n  b: {run: count.cwl, in: {file: a/out}, out: [out]}\n")
write("wrong.cwl", FLOW + "inputs: {texts: 'string[]', number: int}\noutputs:\n  out: {type: int, outputSource: say/out}\nsteps:\n  say: {run: echo.cwl, in: {text: number, extra: texts}, out: [out]}\n")
words = "old new red blue river stone garden house light wood paper glass green cold warm quiet".split()
for number in range(6):
    os.makedirs(f"data{number}", exist_ok=True)
    write(f"data{number}/{words[number]}.txt", " ".join(r.choices(words, k=number + 3)))
runs = []
def run(*arguments):
    runs.append([*r.choice([["--debug"], ["--debug", "--timestamps"], ["--debug", "--enable-dev"]]), *arguments])
for turn in range(7):
    common = ["--no-container"] if turn % 2 else []
    extra = [["--cachedir", "cache"], ["--parallel"], ["--rm-tmpdir"], ["--provenance", f"research{turn}"], ["--copy-outputs"], ["--on-error", "continue"], ["--cachedir", "cache", "--parallel"]][turn]
    texts = [f"--texts={r.choice(words)} {r.choice(words)}" for _ in range(r.randrange(1, 5))]
    run(*common, *extra, "--outdir", f"out{turn}", "echo.cwl", f"--text={r.choice(words)}", f"--times={turn}")
    run(*common, *extra, "--outdir", f"out{turn}", "words.cwl", *texts)
    run(*common, *extra, "count.cwl", f"--file=data{turn % 6}/{words[turn % 6]}.txt")
    run(*common, *extra, "dirs.cwl", f"--dir=data{turn % 6}")
    run(*common, *extra, "outer.cwl", *texts)
    run(*common, "skip.cwl", *texts, *(["--run"] if turn % 2 else []))
    for name in r.sample(["fail", "retry", "slow", "missing", "absent", "docker", "needs", "unknown", "invalid", "old"], 7):
        run(*common, *extra, f"{name}.cwl")
    for name in r.sample(["loop", "wrong", "words", "draft", "echo", "count", "dirs"], 4):
        run(*common, f"{name}.cwl", *texts)
    run(r.choice(["--validate", "--print-dot", "--pack", "--print-deps", "--print-rdf", "--make-template", "--print-subgraph", "--update"]), r.choice(["words.cwl", "echo.cwl", "draft.cwl"]))
    write(f"job{turn}.yml", r.choice(["texts: [a, b]\n", "text: 3\n", "file: {class: File, location: nowhere.txt}\n", "texts: {a: b\n", "text: hi\nextra: 1\n", "cwl:tool: echo.cwl\ntext: x\n"]))
    run(*extra, r.choice(["echo.cwl", "words.cwl", "count.cwl"]), f"job{turn}.yml")
    run(*extra, "--target", r.choice(["counts", "nothing"]), "words.cwl", *texts)
    run(*extra, "--single-step", r.choice(["say", "none"]), "words.cwl", f"job{turn}.yml")
r.shuffle(runs)
for arguments in runs:
    with contextlib.suppress(BaseException):
        main(arguments)
"""

DIRECTORY = r"""
conn={int} op={small} SRCH base="{dn}" scope={scope} deref={deref} filter="{filter}"
conn={int} op={small} SEARCH RESULT tag=101 err={code} qtime={seconds} etime={seconds} nentries={count} text={reason}
conn={int} op={small} SRCH attr={attributes}
conn={int} fd={count} ACCEPT from IP={ipport} (IP=0.0.0.0:{ldap})
conn={int} op={small} BIND dn="{dn}" method=128
conn={int} op={small} BIND dn="{dn}" mech={mechanism} bind_ssf={ssf} ssf={ssf}
conn={int} op={small} RESULT tag={tag} err={code} qtime={seconds} etime={seconds} text={reason}
conn={int} op={small} UNBIND
conn={int} fd={count} closed
conn={int} fd={count} TLS established tls_ssf={ssf} ssf={ssf} tls_proto={protocol} tls_cipher={cipher}
conn={int} op={small} EXT oid={oid}
conn={int} op={small} STARTTLS
conn={int} fd={count} closed ({closing})
conn={int} op={small} MOD dn="{dn}"
conn={int} op={small} MOD attr={attributes}
<= mdb_{match}_candidates: ({attribute}) not indexed
conn={int} op={small} ADD dn="{dn}"
conn={int} op={small} CMP dn="{dn}" attr="{attribute}"
conn={int} fd={count} ACCEPT from PATH=/run/slapd/ldapi (PATH=/run/slapd/ldapi)
conn={int} op={small} ABANDON msg={count}
conn={int} op={small} WHOAMI
conn={int} op={small} PASSMOD[[ id="{dn}"]][[ new]]
conn={int} op={small} DEL dn="{dn}"
syncprov_sendresp: to={rid}, cookie=rid={rid},csn={csn}
do_syncrep2: rid={rid} cookie=rid={rid},csn={csn}
syncrepl_entry: rid={rid} be_{change} {dn} ({code})
syncrepl_entry: rid={rid} LDAP_RES_SEARCH_ENTRY({syncop})
do_syncrepl: rid={rid} rc {negative} retrying[[ ({count} retries left)]]
conn={int} op={small} ppolicy_bind: Entry {dn} has an expired password: {small} grace logins
conn={int} op={small} do_bind: invalid dn ({junk})
conn={int} op={small} MODRDN dn="{dn}"
connection_input: conn={int} deferring operation: {deferral}
Entry ({dn}), attribute '{attribute}' not allowed
Entry ({dn}): object class '{class2}' requires attribute '{attribute}'
connection_read({count}): no connection!
conn={int} op={small} PROXYAUTHZ dn="{dn}"
slapd shutdown: waiting for {small} operations/tasks to finish
daemon: shutdown requested and initiated.
slapd stopped.
slapd starting
@(#) $OpenLDAP: slapd {version}+dfsg-{small} ({date}) $	Debian OpenLDAP Maintainers
main: TLS init def ctx failed: {negative}
send_search_entry: conn {int}  ber write failed.
slap_global_control: unrecognized control: {oid}
"""

SWITCH = r"""
%LINK-3-UPDOWN: Interface {interface}, changed state to {updown}
%LINEPROTO-5-UPDOWN: Line protocol on Interface {interface}, changed state to {updown}
%SEC_LOGIN-5-LOGIN_SUCCESS: Login Success [user: {user}] [Source: {ip}] [localport: 22] at {clock}
%SYS-5-CONFIG_I: Configured from {console} by {user} on {vty} ({ip})
%SYS-6-LOGOUT: User {user} has exited tty session {small}({ip})
%PARSER-5-CFGLOG_LOGGEDCMD: User:{user}  logged command:{command}
%MAB-5-SUCCESS: Authentication successful for client ({cmac}) on Interface {short} AuditSessionID {session}
%DOT1X-5-FAIL: Authentication failed for client ({unknown}) on Interface {short} AuditSessionID {session}[[ Username: {user}]]
%AUTHMGR-5-START: Starting '{method}' for client ({cmac}) on Interface {short} AuditSessionID {session}
%AUTHMGR-7-RESULT: Authentication result '{result}' from '{method}' for client ({cmac}) on Interface {short} AuditSessionID {session}
%ILPOWER-7-DETECT: Interface {short}: Power Device detected: IEEE PD
%ILPOWER-5-POWER_GRANTED: Interface {short}: Power granted
%ILPOWER-5-IEEE_DISCONNECT: Interface {short}: PD removed
%SW_MATM-4-MACFLAP_NOTIF: Host {cmac} in vlan {vlan} is flapping between port {short} and port {short}
%SEC_LOGIN-4-LOGIN_FAILED: Login failed [user: {blank}] [Source: {ip}] [localport: 22] [Reason: {denial}] at {clock}
%SEC-6-IPACCESSLOGP: list {acl} {verdict} {transport} {ip}({port}) -> {ip}({port}), {packets}
%SEC-6-IPACCESSLOGDP: list {acl} {verdict} icmp {ip} -> {ip} ({small}/{small}), {packets}
%SPANTREE-2-BLOCK_BPDUGUARD: Received BPDU on port {short} with BPDU Guard enabled. Disabling port.
%PM-4-ERR_DISABLE: {cause} error detected on {short}, putting {short} in err-disable state
%PM-4-ERR_RECOVER: Attempting to recover from {cause} err-disable state on {short}
%CDP-4-NATIVE_VLAN_MISMATCH: Native VLAN mismatch discovered on {interface} ({vlan}), with {host} {interface} ({vlan}).
%CDP-4-DUPLEX_MISMATCH: duplex mismatch discovered on {interface} (not half duplex), with {host} {interface} (half duplex).
%OSPF-5-ADJCHG: Process {small}, Nbr {ip} on {interface} from {ospf} to {ospf}, {adjacency}
%HSRP-5-STATECHANGE: Vlan{vlan} Grp {small} state {hsrp} -> {hsrp}
%BGP-5-ADJCHANGE: neighbor {ip}[[ vpn vrf {noun}]] {peering}
%BGP-3-NOTIFICATION: {sentreceived} neighbor {ip} {small}/{small} ({bgp}) {count} bytes[[ {hex8}]]
%DHCP_SNOOPING-5-DHCP_SNOOPING_UNTRUSTED_PORT: DHCP_SNOOPING drop message on untrusted port, message type: {dhcp}, MAC sa: {cmac}
%SW_DAI-4-DHCP_SNOOPING_DENY: {small} Invalid ARPs ({arp}) on {short}, vlan {vlan}.([{cmac}/{ip}/{cmac}/{ip}/{clock}])
%PORT_SECURITY-2-PSECURE_VIOLATION: Security violation occurred, caused by MAC address {cmac} on port {short}.
%STORM_CONTROL-3-FILTERED: A {storm} storm detected on {short}. A packet filter action has been applied on the interface.
%EC-5-BUNDLE: Interface {short} joined port-channel Po{small}
%EC-5-UNBUNDLE: Interface {short} left the port-channel Po{small}
%SYS-2-MALLOCFAIL: Memory allocation of {int} bytes failed from {hex}, alignment {small}
Pool: {pool}  Free: {big}  Cause: {malloc}
%SYS-3-CPUHOG: Task is running for ({int})msecs, more than ({int})msecs ({small}/{small}),process = {process}.
-Traceback= {frames2}
%ENVMON-3-FAN_FAILED: Fan {small} not rotating
%PLATFORM_ENV-1-PSU: Power supply {small} is {psu}
%SFF8472-5-THRESHOLD_VIOLATION: {short}: {optics}; Operating value: {float} {unitword}, Threshold value: {float} {unitword}.
%STACKMGR-4-STACK_LINK_CHANGE: Stack port {small} on switch {small} has changed to state {stack}
%NTP-5-PEERSYNC: NTP synced to peer {ip}
%SYS-5-RESTART: System restarted --
%SNMP-3-AUTHFAIL: Authentication failure for SNMP req from host {ip}
%SYS-5-RELOAD: Reload requested by {user} on {vty} ({ip}). Reload Reason: {why}.
%TRACKING-5-STATE: {small} ip sla {count} reachability {track}
"""

LEASES = r"""
DHCPREQUEST for {lan}[[ ({lan})]] from {mac}[[ ({device})]] via {nic}
DHCPACK on {lan} to {mac}[[ ({device})]] via {nic}
DHCPDISCOVER from {mac}[[ ({device})]] via {nic}
DHCPOFFER on {lan} to {mac}[[ ({device})]] via {nic}
DHCPDISCOVER from {mac}[[ ({device})]] via {nic}: network {subnet}: no free leases
DHCPREQUEST for {lan} from {mac} via {nic}: {refusal}
DHCPNAK on {lan} to {mac} via {nic}
DHCPINFORM from {lan} via {nic}
DHCPACK to {lan} ({mac}) via {nic}
DHCPRELEASE of {lan} from {mac}[[ ({device})]] via {nic} ({foundnot})
reuse_lease: lease age {count} (secs) under {percent}% threshold, reply with unaltered, existing lease for {lan}
DHCPINFORM from {lan} via {nic}: not authoritative for subnet {lan}
Added new forward map from {fqdn} to {lan}
Added reverse map from {reverse} to {fqdn}
Removed forward map from {fqdn} to {lan}
Removed reverse map on {reverse}
uid lease {lan} for client {mac} is duplicate on {subnet}
DHCPDECLINE of {lan} from {mac}[[ ({device})]] via {nic}: {decline}
Abandoning IP address {lan}: {abandon}
Reclaiming abandoned lease {lan}.
Unable to add forward map from {fqdn} to {lan}: {dns}
Forward map from {fqdn} to {lan} FAILED: Has an address record but no DHCID, not mine.
bind update on {lan} from {peer} rejected: incoming update is less critical than outgoing update
failover peer {peer}: peer moves from {failover} to {failover}
failover peer {peer}: I move from {failover} to {failover}
balancing pool {hex12} {subnet}  total {int}  free {int}  backup {int}  lts {negative}  max-own (+/-){count}
balanced pool {hex12} {subnet}  total {int}  free {int}  backup {int}  lts {negative}  max-misbal {count}
Wrote {int} leases to leases file.
Wrote {small} class decls to leases file.
Wrote {small} deleted host decls to leases file.
Wrote {small} new dynamic host decls to leases file.
ICMP Echo reply while lease {lan} valid.
parse_option_buffer: malformed option {option} (code {count}): option length exceeds option buffer length.
Client {duid} releases address {ip6}
Solicit message from {link6} port 546, transaction ID 0x{hex6}
Advertise NA: address {ip6} to client with duid {duid} iaid = {negative} valid for {int} seconds
Reply NA: address {ip6} to client with duid {duid} iaid = {negative} valid for {int} seconds
Sending {reply6} to {link6} port 546
Dropping DHCPv4 packet with zero length client-id from {mac}
send_packet: {errno}
Discarding packet with bogus hlen {count}.
Multiple interfaces match the same subnet: {nics}
Listening on LPF/{nic}/{mac}/{subnet}
No subnet declaration for {nic} ({lan}).
Internet Systems Consortium DHCP Server {version}[[-P{small}]]
Can't open {path} for append: {errno}
{count} bad udp checksums in {count} packets
"""

GAME = r"""
{player} moved too quickly! {signed},{signed},{signed}
[Not Secure] <{player}> {chat}
UUID of player {player} is {uuid}
{player}[/{ipport}] logged in with entity id {int} at ([{world}]{signed}, {signed}, {signed})
{player} joined the game
{player} left the game
{player} lost connection: {lost}
Can't keep up! Is the server overloaded? Running {int}ms or {count} ticks behind
{player} has made the advancement [{advancement}]
{player} was slain by {mob}[[ using [{item}]]]
{player} issued server command: /{gamecommand}
{player} drowned
{player} fell from a high place
Saving chunks for level '{level}'/minecraft:{world}
ThreadedAnvilChunkStorage ({world}): All chunks are saved
[{player}: Teleported {player} to {signed}, {signed}, {signed}]
[{player}: Gave {count} [{item}] to {player}]
Disconnecting {profile}: {lost}
com.mojang.authlib.GameProfile@{hex8}[id={uuid},name={player},properties={},legacy=false] (/{ipport}) lost connection: {lost}
{player} was shot by {mob}
{player} moved wrongly!
{player} hit the ground too hard
{player} burned to death
[{player}: Set own game mode to {mode}]
[Server] {chat}
[{plugin}] Enabling {plugin} v{version}
[{plugin}] Loading {plugin} v{version}
[{plugin}] Could not pass event {gameevent} to {plugin} v{version}
Named entity {entity}['{item}'/{int}, l='ServerLevel[{level}]', x={signed}, y={signed}, z={signed}] died: {item} {death}
Villager Villager['{player}'/{int}, l='ServerLevel[{level}]', x={signed}, y={signed}, z={signed}] died, message: 'Villager was slain by {mob}'
{player} has completed the challenge [{advancement}]
Kicked {player}[[: {lost}]]
Banned {player}: {lost}
Failed to handle packet for /{ipport}[[, disconnecting {player}]]
Loaded {int} recipes
Loaded {int} advancements
Preparing spawn area: {percent}%
Preparing start region for dimension minecraft:{world}
Time elapsed: {int} ms
Done ({seconds}s)! For help, type "help"
Ignoring unknown attribute '{attribute2}'
Mismatch in destroy block pos: BlockPos{xyz} BlockPos{xyz}
Skipping Entity with id minecraft:{mob2}
Tried to add entity minecraft:{mob2} but it was marked as removed already
Chunk file at [{signed2}, {signed2}] is in the wrong location; relocating. (Expected [{signed2}, {signed2}], got [{signed2}, {signed2}])
Failed to save player data for {player}
[{player}: Automatic saving is now {onoff}]
Stopping the server
Saving players
Saving worlds
Starting Minecraft server on {ipport}
Default game type: {mode}
**** FAILED TO BIND TO PORT!
Perhaps a server is already running on that port?
"""

SERVICING = r"""
Appl: detecting parent, package: {pkg}, parent: {pkg}, disposition: {disposition}, version: {compare}, build: {compare}, revision: {compare}
Appl: evaluating applicability of package: {pkg}, applicable state: {pkgstate}
Plan: package: {pkg}, current: {pkgstate}, pending: {pkgpending}, start: {pkgstate}, applicable: {pkgstate}, targeted: {pkgstate}, limit: {pkgstate}
Read out cached package applicability for package: {pkg}, ApplicableState: {state3}, CurrentState:{state3}
Session: {session2} initialized by client {winclient}, external staging directory: {external}, external registry directory: {external}
Exec: Processing started.  Client: {winclient}, Session({small}): {session2}[[, Package: {pkg}]][[, Identifier: {kb}]]
Exec: Processing complete.  Session: {session2}, Package: {pkg} [HRESULT = {hresult}]
Exec: Resolving Package: {pkg}, Update: {update}, PinDeployment: {winarch}_{noun}-deployment_31bf3856ad364e35_{winver}_none_{hex16}
Exec: Staging Package: {pkg}, Update: {update}, Component: {winarch}_{wincomponent}_31bf3856ad364e35_{winver}_none_{hex16}
Exec: Installing Package: {pkg}, Update: {update}
Exec: {count} driver(s) will be installed
Exec: Skipping restart of {winclient}, restart required: {onezero}
Warning: Unrecognized packageExtended attribute.
Expecting attribute name [HRESULT = 0x800f080d - CBS_E_MANIFEST_INVALID_ITEM]
Failed to get next element [HRESULT = 0x800f080d - CBS_E_MANIFEST_INVALID_ITEM]
Failed to internally open package. [HRESULT = {hresult}]
Failed to open package: {pkg}. [HRESULT = {hresult}]
Failed to resolve execution package: {pkg} [HRESULT = {hresult}]
Failed to pend package {pkg}, it is {pkgpending} already
SQM: Initializing online with Windows opt-in: {truefalse}
SQM: Cleaning up report files older than {count} days.
SQM: Requesting upload of all unsent reports.
SQM: Failed to start upload with file pattern: {winpath}\sqm\*_{sqm}.sqm, flags: 0x{digit} [HRESULT = {hresult}]
SQM: Queued {int} file(s) for upload with pattern: {winpath}\sqm\*_{sqm}.sqm, flags: 0x{digit}
Loaded Servicing Stack v{winver} with Core: {winpath}\cbscore.dll
Starting TrustedInstaller initialization.
Ending TrustedInstaller initialization.
Starting the TrustedInstaller main loop.
TrustedInstaller service starts successfully.
No startup processing required, TrustedInstaller service was not set as autostart[[, or else a reboot is still pending]].
Startup processing thread terminated {winend}.
NonStart: Checking to ensure startup processing was not required.
Startup: Changing logon timeout to a static timeout: {int}
Unloading offline registry hive: {{bcd}}/Windows/System32/config/{hive}
Loading offline registry hive: {hive}, into registry key '{{bcd}}/Windows/System32/config/{hive}' from path '\\?\{winpath}\config\{hive}'.
Could not load SrClient DLL from path: SrClient.dll.  Continuing without system restore points.
SR: Created restore point [{count}] for {winclient}
CSI transaction @0x{hex8} initialized for deployment engine {{uuid}} with flags {hex8} and client id [{csilen}]"TI{digit}.{filetime}:{digit}/"
CSI perf trace: CSIPERF:TXCOMMIT;{big}
{hex8} Creating NT transaction (seq {small}), objectname [{small}]"(null)"
{hex8}@2026/11/{day}:{clock}.{millis} CSI Transaction @0x{hex8} destroyed
{hex8} [SR] Verifying {count} (0x{hex16}) components
{hex8} [SR] Verify complete
{hex8} [SR] Cannot repair member file [l:{count}{{small}}]"{winfile}" of {wincomponent}, Version = {winver}, pA = PROCESSOR_ARCHITECTURE_{winpa} ({digit}), Culture neutral, VersionScope = {small} nonSxS, PublicKeyToken = {l:8 b:{hex16}}, {verscope} in the store, {mismatch}
{hex8} [SR] Repairing {count} components
{hex8} Warning: Overlap: Directory [l:{count}{{count}}]"\??\{winpath}" is owned twice or has its security set twice
{hex8} Ignoring duplicate ownership for directory [l:{count}{{count}}]"\??\{winpath}" in component {wincomponent}, Version = {winver}, pA = PROCESSOR_ARCHITECTURE_{winpa} ({digit})
{hex8} ICSITransaction::Commit calling IStorePendingTransaction::Apply - coldpatching={truefalse2} applyflags={digit}
{hex8} Performing {small} operations; {small} are not lock/unlock and follow:
  ({digit})  LockComponentPath (10): flags: 0 comp: {l:16 b:{hex16}{hex16}} pathid: {l:16 b:{hex16}{hex16}} path: [l:{count}{{count}}]"\SystemRoot\WinSxS\{winarch}_{wincomponent}_{hex16}" pid: {hex} starttime: {filetime} (0x{hex16})
Repr: CBS Store check completes
Scavenge: Starts
Scavenge: Package store indicates there is no component to scavenge, skipping.
Scavenge: Completed, disposition: 0X{digit}
Idle processing thread terminated {winend}
Reboot mark {refs}
Winlogon: {winlogon}
WU: Download of {kb} finished, {size} in {int} file(s)[[, {percent}% from peers]]
WU: Search for updates [CallerId = {winclient}  Id = {count}] found {small} updates
Clearing HangDetect value
Maint: processing of maintenance {maint}
"""

KUBELET = r"""
"SyncLoop (PLEG): event for pod" pod="{pod}" event={"ID":"{uuid}","Type":"{pleg}","Data":"{sha64}"}
"Generic (PLEG): container finished" podID="{uuid}" containerID="containerd://{sha64}" exitCode={exitcode}
"SyncLoop {podop}" source="api" pods=[{pods}]
"operationExecutor.VerifyControllerAttachedVolume started for volume \"{volume}\" (UniqueName: \"kubernetes.io/{volplugin}/{uuid}-{volume}\") pod \"{podname}\" (UID: \"{uuid}\") " pod="{pod}"
"MountVolume.SetUp succeeded for volume \"{volume}\" (UniqueName: \"kubernetes.io/{volplugin}/{uuid}-{volume}\") pod \"{podname}\" (UID: \"{uuid}\") " pod="{pod}"
MountVolume.SetUp failed for volume "{volume}" : {k8sobject} "{volume}" not found
"Probe failed" probeType="{probe}" pod="{pod}" podUID="{uuid}" containerName="{containers}" probeResult="failure" output="{probeout}"
"Observed pod startup duration" pod="{pod}" podStartSLOduration={float} podStartE2EDuration="{godur}" pullDuration="{godur}"
"Error syncing pod, skipping" err="{poderr}" pod="{pod}" podUID="{uuid}"
"RemoveContainer" containerID="{sha64}"
"Updated allocated memory" resource="{memory}" pods=[{pods}] previous={null}
"RemoveStaleState: removing container" podUID="{uuid}" containerName="{containers}"
"Container not found in pod's containers" containerID="{sha64}"
"DeleteContainer returned error" containerID={"Type":"containerd","ID":"{sha64}"} err="failed to get container status \"{sha64}\": rpc error: code = {grpc} desc = {grpcdesc}"
"Killing container with a grace period" pod="{pod}" podUID="{uuid}" containerName="{containers}" containerID="containerd://{sha64}" gracePeriod={grace}
"Failed to create sandbox for pod" err="rpc error: code = {grpc} desc = {grpcdesc}" pod="{pod}"
"Nameserver limits exceeded" err="Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: {nameservers}"
"Unable to read config path" err="path does not exist, ignoring" path="{path}"
"Recording event message for node" node="{node}" event="{nodeevent}"
"Setting node annotation to enable volume controller attach/detach"
"Attempting to register node" node="{node}"
"Successfully registered node" node="{node}"
"Node became not ready" node="{node}" condition={"type":"Ready","status":"False","lastHeartbeatTime":"{iso}","lastTransitionTime":"{iso}","reason":"{notready}","message":"{notreadymsg}"}
"Error updating node status, will retry" err="error getting node \"{node}\": Get \"https://{ip}:6443/api/v1/nodes/{node}?timeout={small}s\": {neterr}"
"Failed to ensure lease exists, will retry" err="Get \"https://{ip}:6443/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node}?timeout={small}s\": {neterr}" interval="{godur}"
"Image garbage collection failed once. Stats initialization may not have completed yet" err="{gcerr}"
"Attempting to delete unused images"
"Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold" usage={percent} highThreshold=85 amountToFree={big} lowThreshold=80
"Removing image to free bytes" imageID="sha256:{sha64}" size={big} runtimeHandler=""
"Eviction manager: attempting to reclaim" resourceName="{evictable}"
"Eviction manager: must evict pod(s) to reclaim" resourceName="{evictable}"
"Eviction manager: pods ranked for eviction" pods=[{pods}]
"Eviction manager: pod is evicted successfully" pod="{pod}"
"Eviction manager: unable to evict any pods from the node"
"Cleaned up orphaned pod volumes dir" podUID="{uuid}" path="/var/lib/kubelet/pods/{uuid}/volumes"
"Orphaned pod found, but failed to remove volume(s)" podUID="{uuid}" numErrs={count}
"Housekeeping took longer than expected" expected="1s" actual="{godur}"
"Skipping pod synchronization" err="[{skiperrs}]"
"Caches populated" type="*v1.{k8skind}" reflector="object-\"{namespace}\"/\"{volume}\""
"Cannot create cgroup for pod" pod="{pod}" cgroupName={cgroup} err={quotederr}
"CreatePodSandbox for pod failed" pod="{pod}" attempt={small}
"Failed to get system container stats" err="failed to get cgroup stats for \"{slice}\": unknown container \"{slice}\"" containerName="{slice}"
"Pod status updated" pod="{pod}" status={"phase":"{phase}","podIPs":[{podips}],"restartCount":{small},"startTime":{startjson}}
"Exec probe timed out" command=["{shellcmds}"] timeout="{small}s" pod="{pod}"
"Starting kubelet" version="v{version}[[-rc.{digit}]]" os="linux" swap={swapjson}
"Golang settings" GOGC="" GOMAXPROCS="{gomax}" GOTRACEBACK=""
"Client rotation is {onoff3}, will bootstrap in background"
"Certificate rotation deadline determined" expiration="{iso}" deadline="{iso}"
"Rotating certificates"
"CPU manager policy" policy="{cpupolicy}" reservedCPUs="{cpuset}"
"Topology Affinity" bestHint={"NUMANodeAffinity":{affinity},"Preferred":{truefalse2}} pod="{pod}" containerName="{containers}"
"Container runtime initialized" containerRuntime="containerd" version="v{version}" apiVersion="v1"
Flag --{kubeflag} has been deprecated, This parameter should be set via the config file specified by the Kubelet's --config flag.
http: TLS handshake error from {ipport}: {tlserr}
Trace[{big}]: "Reflector ListAndWatch" name:object-"{namespace}"/"{volume}" ({iso}) (total time: {ms}):
Trace[{big}]: ---"Objects listed" error:{reflecterr} {ms} ({clock}.{millis})
Trace[{big}]: [{godur}] [{godur}] END
"Device plugin registered" resourceName="{devices2}" endpoint="{noun}.sock" options={"pre_start_required":{truefalse2}}
"Failed to terminate process" pid={pid} signal="{unixsignal}" err={quotederr}
"""

APPSERVER = r"""
[{thread}] Deployment of web application archive [{war}] has finished in [{grouped}] ms
[{thread}] Deploying web application archive [{war}]
[{thread}] Undeploying context [{context}]
[{thread}] Reloading Context with name [{context}] has {startdone}
[{thread}] HikariPool-{digit} - Pool stats (total={count}, active={count}, idle={small}, waiting={small})
[{thread}] HikariPool-{digit} - Thread starvation or clock leap detected (housekeeper delta={javadur}).
[{thread}] Completed {httpstatus}[[, headers={masked}]]
[{thread}] {verb} "{uri}", parameters={parameters}
[{thread}] Mapped to {class}Controller#{method2}({javatypes})
[{thread}] Resolved [{exceptiontext}]
[{thread}] Servlet.service() for servlet [{servlet}] in context with path [{contextpath}] threw exception [{nested}] with root cause
[{thread}] Executing prepared SQL statement [{sql}]
[{thread}] Rolled back transaction for test context [DefaultTestContext@{hex8} testClass = {class}, testInstance = {class}@{hex8}, attributes = map[{springattributes}]]
[{thread}] Creating new transaction with name [{class}.{method2}]: {txattributes}
[{thread}] Initiating transaction commit
[{thread}] Initiating transaction rollback
[{thread}] Participating in existing transaction
[{thread}] Transaction rolled back because it has been marked as rollback-only
[{thread}] SQL Error: {int}, SQLState: {sqlstate}
[{thread}] ERROR: duplicate key value violates unique constraint "{noun}_{attributecol}_key"
[{thread}] User [{principal}] authenticated from {ip} with roles [{roles}]
[{thread}] Authentication failed for user [{principal}]: {denied2}
[{thread}] Session {hexupper}.{jvmroute} created
[{thread}] Session {hexupper}.{jvmroute} expired after {int} s[[ (last access by {principal})]]
[{thread}] Sessions: {int} active, {int} expired, {int} rejected
[{thread}] Message [{jmsid}] from queue [{queue}] redelivered {small} time(s)[[, moving it to [DLQ.{queue}]]]
[{thread}] Connection to broker tcp://{hostport} lost: {ioerror}
[{thread}] Successfully reconnected to tcp://{hostport}
[{thread}] Cache '{cache}' statistics: hits={int}, misses={int}, evictions={int}, hitRatio={ratio}
[{thread}] Cache region [{cache}] has no explicit configuration, using defaults
[{thread}] Job {quartzgroup}.{quartzjob} fired by trigger {quartzgroup}.{quartzjob} next at {nextfire}
[{thread}] Job {quartzgroup}.{quartzjob} vetoed
[{thread}] Handling {count} trigger(s) that missed their scheduled fire-time.
[{thread}] ClusterManager: detected {small} failed or restarted instances.
[{thread}] Received new cluster view for channel {noun}: [{jgroup}{sign}{count}] ({small}) [{jgroups}]
[{thread}] Suspect {jgroup}: no heartbeat for {int} ms
[{thread}] The web application [{contextname}] appears to have started a thread named [{thread}] but has failed to stop it. This is very likely to create a memory leak. Stack trace of thread:{frames2b}
[{thread}] The web application [{contextname}] registered the JDBC driver [{class}] but failed to unregister it when the web application was stopped.
[{thread}] At least one JAR was scanned for TLDs yet contained no TLDs. Enable debug logging for this logger for a complete list of JARs that were scanned but no TLDs were found in them.
[{thread}] Initializing ProtocolHandler ["{protocolhandler}"]
[{thread}] Starting ProtocolHandler ["{protocolhandler}"]
[{thread}] Pausing ProtocolHandler ["{protocolhandler}"]
[{thread}] Server startup in [{grouped}] milliseconds
[{thread}] Starting Servlet engine: [{engine}]
[{thread}] No active profile set, falling back to {small} default profile: "default"
[{thread}] The following {small} profiles are active: {profiles}
[{thread}] Bean '{bean}' of type [{class}] is not eligible for getting processed by all BeanPostProcessors
[{thread}] Overriding bean definition for bean '{bean}': replacing [{beandef}] with [{beandef}]
[{thread}] Command line argument: -D{property}={propvalue}
[{thread}] WELD-000119: Bean archive reference {noun}.jar contains {int} types
[{thread}] {javastart} {class}App using Java {javaversion} with PID {pid} ({path} started by {user} in {path})
[{thread}] Health indicator {bean} reports {health}[[ {details}]]
[{thread}] JSR-107 cache manager closed
[{thread}] <BEA-000365> <The server state changed to {wlsstate}.>
[{thread}] [STUCK] ExecuteThread: '{count}' for queue: 'weblogic.kernel.Default (self-tuning)' has been busy for "{int}" seconds working on the request "{wlsrequest}", which is more than the configured time of "{int}" seconds.
[{thread}] Error parsing HTTP request header Note: further occurrences of HTTP request parsing errors will be logged at DEBUG level.
[{thread}] Invalid character found in method name [{junkmethod}]. HTTP method names must be tokens
[{thread}] Mail to {recipients} sent through {host}, subject "{subject}"
[{thread}] Retrying {class}.{method2} (attempt {small}/{small}) after {class}Exception: {nullmessage}
[{thread}] Slow query ({grouped} ms): {sql}
[{thread}] LDAP search base={dn} filter={filter} returned {resultcount}
[{thread}] Thread pool {cache}-pool: {poolstate}
[{thread}] Full GC ({gccause}) {int}M->{int}M({int}M), {seconds} secs
[{thread}] Uploaded file "{upload}" ({size}) rejected by {bean}: {scan}
"""

PHONE = r"""
ServiceState: voice={regstate}({small}), data={regstate}({small}), operator={operator}, mccmnc={mccmnc}, rat={rat}({digit}), roaming={truefalse2}, emergencyOnly={truefalse2}
onSignalStrengthsChanged slot={sim} {signalobject}
Displayed {component}: +{appms}[[ (total +{appms})]]
Start proc {pid}:{appproc}/{appuid} for {hosting} {component}
Killing {pid}:{appproc}/{appuid} (adj {adj}): {killreason}
Process {appproc} (pid {pid}) has died: {adjname}
START u{sim} {intent} from uid {appuid2}[[ pid {pid}]]
startService callingPackage={appname} intent={intent} fg={truefalse2}
bindService {intent} conn=android.app.LoadedApk$ServiceDispatcher$InnerConnection@{hex7} flags=0x{hex4}
Scheduling restart of crashed service {component} in {int}ms for {restartwhy}
Background start not allowed: service {intent} to {component} from pid={pid} uid={int} pkg={appname} startFg?={truefalse2}
ANR in {appproc}[[ ({component})]]
Reason: {anrreason}
Load: {load} / {load} / {load}
CPU usage from {int}ms to {int}ms {agolater}[[ ({iso2} to {iso2})]]:
{percent}% {pid}/{appproc}: {percent}% user + {percent}% kernel[[ / faults: {int} minor {small} major]]
requestAudioFocus() from uid/pid {int}/{pid} AA={audiousage}/{audiocontent} clientId=android.media.AudioManager@{hex7}{appclass}@{hex7} callingPack={appname} req={digit} flags=0x{digit} sdk={sdk}
abandonAudioFocus() from uid/pid {int}/{pid} clientId=android.media.AudioManager@{hex7}{appclass}@{hex7}
setStreamVolume stream={stream2} index={small} flags={hex} calling={appname}
AudioTrack {hex8}: underrun, framesReady({int}) < framesDesired({int})
getOutput() io {count}, samplingRate {rate}, format {audioformat}, flags {audioflags}
WifiStateMachine: {wifistate} -> {wifistate} due to {wificmd}
Connected to {ssid} bssid={bssid} rssi={dbm} linkSpeed={count} freq={freq}
CTRL-EVENT-DISCONNECTED bssid={bssid} reason={small}[[ locally_generated=1]]
CTRL-EVENT-SSID-TEMP-DISABLED id={small} ssid={ssid} auth_failures={small} duration={count} reason={wifireason}
scan results: {count} aps, best={best}
NetworkAgentInfo [{nettype} () - {int}] EVENT_NETWORK_INFO_CHANGED, going from {netstate} to {netstate}
NetworkAgentInfo [{nettype} () - {int}] validation {validation}
LinkProperties{InterfaceName: {netif} LinkAddresses: [ {linkaddresses} ] DnsAddresses: [ {dnsaddresses} ] Domains: {domains} MTU: {mtu} Routes: [ {routes} ]}
alarm {alarmobject} set for {appname} window={window} repeat={int}
Delivering {count} alarms, {small} wakeups[[, {small} deferred by idle]]
idle state {idlestate} -> {idlestate}, reason: {idlereason}
battery changed: level={percent} status={batstatus} health={bathealth} plugged={plug} voltage={reading} temp={batterytemp} technology=Li-ion
Setting brightness to {brightness}, reason={dispreason}, previous reason={dispreason}
Display device changed state: "Built-in Screen", {onoff4}
Blocking screen on until initial contents have been drawn.
Unblocked screen on after {int} ms
wakeup {wakewhy} from uid={appuid2} details={wakedetails}
Going to sleep due to {sleepwhy} (uid {appuid2})...
enqueueNotification pkg={appname} id={negative} tag={tagnull} uid={int} notification={notification}
cancelNotification pkg={appname} id={negative} tag={tagnull} reason={small}[[ listener={component}]]
Package {appname} codePath changed from {apkpath} to {apkpath}; retaining data and using new
Permission {permission} {grantdeny} to {appname} for user {sim}
Not granting permission {permission} to package {appname} (protectionLevel={small} flags=0x{hex8})
Compiler filter for {appname} is {dexfilter}, odex size {size}
Explicit concurrent copying GC freed {int}({size}) AllocSpace objects, {small}({size}) LOS objects, {percent}% free, {gcmb}/{gcmb}, paused {gcpause} total {gcpause}
Skipped {count} frames!  The application may be doing too much work on its main thread.
Davey! duration={int}ms; Flags={digit}, IntendedVsync={nanos}, Vsync={nanos}, OldestInputEvent={inputnanos}, HandleInputStart={nanos}
Input event injection from pid {pid} {injection}
Dropped event because {dropwhy}
sensor {sensor} rate={rateus}us latency={latency} by {appname}
Fingerprint {fingerprint}[[, vendor code {int}]]
GnssStatus: {small} svs used of {count}, ttff={ttff}
location: Location[{locprovider} {latlon},{latlon} hAcc={accuracy} et={et}[[ alt={float}]][[ vel={float}]]]
SIM state of slot {sim} is {simstate}[[ iccid={iccid}]]
RILJ: [{int}]> {rilrequest}[[ {rilargs}]]
RILJ: [{int}]< {rilrequest}[[ error {rilerror}]]
RILJ: [UNSL]< {unsol}[[ {rilargs}]]
sendSms to={phonenumber} parts={small} messageId={int} format={smsformat}
Bluetooth device {mac2} bond state {bond} -> {bond}[[ reason {small}]]
thermal throttling level {small} (skin {batterytemp}, cpu {batterytemp})
lowmemorykiller: Kill '{appproc}' ({pid}), uid {int}, oom_score_adj {adj} to free {int}kB rss, {int}kB swap; reason: {lmkreason}
"""

TORUS = r"""
{count} L3 EDRAM error(s) (dcr 0x{hex4}) detected and corrected[[ over {int} seconds]]
{int} double-hummer alignment exceptions
CE sym {small}, at 0x{hex8}, mask 0x{hex2}
generating core.{int}
instruction cache parity error corrected
data TLB error interrupt
program interrupt: {ppcinterrupt}
ciod: Error reading message prefix after {ciodprefix} on CioStream socket to {ipport}: {sockerr}
ciod: failed to read message prefix on control stream (CioStream socket to {ipport}
ciod: LOGIN chdir({path}) failed: {fserr}
ciod: Error loading {path}: invalid or missing program image, {fserr2}
ciod: Missing or invalid fields on line {int} of node map file {path}
ciod: generated {int} core files for program {path}
ciod: In packet from node {count}.{small} ({rackloc}), message code {small} is not {ciodexpect} (softheader={hex8} {hex8} {hex8} {hex8})
ciod: cpu {small} at treeaddr {count} sent unrecognized message 0x{hex8}
machine check interrupt (bit=0x{hex2}): {mcheck}
machine state register: 0x{hex8}
critical input interrupt (unit=0x{hex2} bit=0x{hex2}): warning for {torusdir} wire[[, suppressing further interrupts of same type]]
critical input interrupt (unit=0x{hex2} bit=0x{hex2}): warning for torus {xyzaxis} wire
rts: kernel terminated for reason {rtscode}[[: {rtsreason}]]
rts: bad message header: {rtsheader}
rts internal error
rts assertion failed: `{rtsassert}' in `{rtsfunction}' at {rtsfile}:{int}
rts panic! - stopping execution
problem state (0=sup,1=usr).......{onezero}
icache prefetch depth..................{digit}
auxiliary processor unavailable........{onezero}
exception syndrome register: 0x{hex8}
core configuration register: 0x{hex8}
debug wait enable.................{onezero}
imprecise machine check...........{onezero}
minus inf.........................{onezero}
fpr{small2}=0x{hex8} {hex8} {hex8} {hex8}
r{two2}=0x{hex8} r{two2}=0x{hex8} r{two2}=0x{hex8} r{two2}=0x{hex8}
lr:{hex8}  cr:{hex8} xer:{hex8} ctr:{hex8}
0x{hex8}: {hexbytes}
stack trace: {stackframes}
idoproxydb hit ASSERT condition: ASSERT expression={small} Source file={bglfile} Source line={int} Function={bglfunction}
ido chip status changed: {ip} ip={ip} v={digit} t={small} status={chipstatus} Wed Nov {day} {clock} UTC 2026
idoproxy communication failure: {idofail}
Node card VPD check: missing {nodelist} {nodelistname}
Node card is not fully functional
Node card status: {cardflags}
no power module {power} found found on link card
power module {power} {pmstatus}[[, bulk {bulk}]]
Link card power module {rackloc} is not accessible
MidplaneSwitchController performing bit sparing on {rackloc} bit {small}
Can not get assembly information for {cardkind} card
While initializing {cardkind} card, {cardinit}
Fan module {rackloc}-F{small}: rpm {rpms}, status={fanstatus}
Temperature {rackloc}: inlet {tempc} outlet {tempc}[[ WARNING limit {tempc}]]
Lustre mount FAILED : {lustrehost} : block_id : location
NFS Mount failed on {lustrehost}, slept {small} seconds, retrying ({small})
uncorrectable torus error: {torusdir} retransmission count {int}, packet dropped
torus receiver {torusdir} input pipe error(s) (dcr 0x{hex4}) detected and corrected
torus sender {torusdir} retransmission error(s) (dcr 0x{hex4}) detected and corrected over {int} seconds
tree receiver {small} in re-synch state event(s) (dcr 0x{hex4}) detected
ddr: activating redundant bit steering: rank={small} symbol={count}
ddr: excessive soft failures, consider replacing the card
ddr: Unable to steer rank={small} symbol={count} - rank is already steering symbol {count}. Due to multiple symbols being over the correctable error threshold, consider replacing the card
{count} ddr errors(s) detected and corrected on rank {small}, symbol {count}, bit {small}
total of {small} ddr error(s) detected and corrected[[ over {int} seconds]]
job {int} block {block} state {jobstate} -> {jobstate}[[ exit {exitstatus}]]
block {block} booted in {secs}: {int} nodes, {small} io nodes, pass-through {passthrough}
block {block}: waiting for {nodelist} of {int} nodes
wait state enable.................{onezero}
regctl scancom interface.......................{onezero}
size of scratchpad portion of L3.........{scratch}
L3 ecc status register: {hex8}
shutdown complete
Starting SystemController
BGLMASTER FAILURE {bglmaster}
"""

# A variable of the generated sources, and the texts of which one is picked; a text may have variables.
SCHEDULER = r"""
sched: Allocate JobId={jobid} NodeList={hostlist} #CPUs={cpus} Partition={partition}
_job_complete: JobId={jobid} WEXITSTATUS {exitcode}
_job_complete: JobId={jobid} done
_slurm_rpc_submit_batch_job: JobId={jobid} InitPrio={priority} usec={int}
sched/backfill: _start_job: Started JobId={jobid} in {partition} on {hostlist}
[{stepid}] done with job
launch task {stepid2} request from UID:{unixid} GID:{unixid} HOST:{ip} PORT:{port}
task/affinity: batch_bind: job {jid} CPU input mask for node: 0x{cpumask}
task/affinity: batch_bind: job {jid} CPU final HW mask for node: 0x{cpumask}
_slurm_rpc_kill_job: REQUEST_KILL_JOB JobId={jobid} uid {unixid}
Launching batch job {jid} for UID {unixid}
prolog with lock for job {jid} ran for {small} seconds
_pick_best_nodes: JobId={jobid} never runnable in partition {partition}
epilog for job {jid} ran for {count} seconds
sched: _slurm_rpc_allocate_resources JobId={jobid} NodeList={hostlist} usec={int}
_job_complete: JobId={jobid} OOM failure
_job_complete: JobId={jobid} WTERMSIG {termsig}
Time limit exhausted for JobId={jobid}
error: Nodes {hostlist} not responding
error: Nodes {hostlist} not responding, setting DOWN
Node {computenode} now responding
node {computenode} returned to service
update_node: node {computenode} state set to DRAINING
update_node: node {computenode} state set to IDLE
update_node: node {computenode} state set to DOWN
update_node: node {computenode} reason set to: {drainreason}
error: Node {computenode} has low real_memory size ({int} < {int})
error: Setting node {computenode} state to {nodestate} with reason:{drainreason}
[{stepid}] error: *** {stepword} {stepid2} ON {computenode} CANCELLED AT {slurmtime}[[ DUE TO {cancelcause}]] ***
[{stepid}] error: Detected {small} oom_kill {oomevents} in {stepid2}. Some of the step tasks have been OOM Killed.
[{stepid}] get_exit_code task {small} died by signal: {termsig}
[{stepid}] task {small} ({pid}) exited with exit code {exitcode}.
[{stepid}] Sent signal {termsig} to {stepid2}
[{stepid}] job_manager exiting abnormally: {slurmerror}
[{stepid}] cpu_freq_set: CPU frequency of {cpurange} set to {governor}
Resending TERMINATE_JOB request JobId={jobid} Nodelist={hostlist}
Requeuing JobId={jobid}
_job_requeue: JobId={jobid} requeued, held by {holder}
sched: Cancel of {jobsteps} by UID={unixid} usec={int}
sched: Updated JobId={jobid} {jobfields}
job_submit/lua: {user}: {lua}
cleanup_completing: JobId={jobid} completion process took {int} seconds
preempted JobId={jobid} has been {preempted} to reclaim resources for JobId={jobid}
error: slurm_receive_msgs: [{ipport}] failed: {slurmerror}
error: slurm_unpack_received_msg: auth_g_verify: {rpc} has authentication error: {slurmerror}
error: Munge decode failed: {munge}
auth/munge: _print_cred: ENCODED: {ctime}
auth/munge: _print_cred: DECODED: {ctime}
accounting_storage/slurmdbd: agent queue size {int}
error: slurmdbd: Sending {dbd} msg: {slurmerror}
error: Security violation, {rpc} from uid={unixid}
error: Job allocate response msg send failure, killing JobId={jobid}
Warning: Note very large processing time from {rpcfunction}: usec={big} began={clock}.{three}
_slurm_rpc_complete_job_allocation: JobId={jobid} error {slurmerror}
Invalid node state transition requested for node {computenode} from={nodestate} to={nodestate}
sched/backfill: _attempt_backfill: completed testing {int}({int}) jobs, usec={big}
sched: Created reservation={reservation} users={userlist} nodes={hostlist} cores={cores} licenses={licenses} tres=cpu={int} watts={watts} start={slurmtime} end={slurmend}
sched: Deleted reservation={reservation}
gres/gpu: count changed for node {computenode} from {small} to {small}
topology/tree: no switch configuration file found
Running as primary controller
Processing Reconfiguration Request
read_slurm_conf: backup_controller not specified
Terminate signal ({termsignal}) received
slurmctld version {version} started on cluster {noun}
No parameter for mcs plugin, default values set
Recovered state of {int} nodes
Recovered JobId={jobid} Assoc={dash}
Recovered information about {int} jobs
Down nodes: {hostlist}
"""

STEPS = r"""
STEP_Counter|{hpid}|onStepChanged {int}
STEP_Store|{hpid}|saveToday = {epochms}##{int}##{big}##{int}##{int}##{big}
STEP_Store|{hpid}|loadToday={epochms}##{int}##{big}##{int}##{int}##{big}
STEP_Counter|{hpid}|onDetail:{epochms} {int} {small} {small} {int}
CAL_Engine|{hpid}|kcal from cache total={int}
CAL_Engine|{hpid}|altitude from cache total={altitude}
NOTIFY_Bar|{hpid}|refresh steps:{int} goal:{goal} distance:{float}[[ streak:{count}]]
HR_Sensor|{hpid}|hr={heart}|q={digit}|rr={rrlist}|ts={epochms}
SCREEN_Watch|{hpid}|onReceive action:android.intent.action.{screenaction}
STEP_Counter|{hpid}|flush sensor cacheSize={small}
STEP_Counter|{hpid}|report: {int} {int} {int} {int}
UPLOAD_Task|{hpid}|upload|{uploadkind}|{epochms}|{epochms}|{small}|{uploadresult}
SLEEP_Judge|{hpid}|segment {sleepstage} {clock2}-{clock2} conf={conf}
DB_Health|{hpid}|insert {table} rows={small} cost={int}ms
DB_Health|{hpid}|query {table} from {epochms} to {epochms}[[ type {count}]] -> {rowcount}
BT_Link|{hpid}|state {btstate}->{btstate} dev={mac2} reason={btreason}
BT_Link|{hpid}|rx {hexpairs}
BT_Link|{hpid}|tx {hexpairs}
BT_Link|{hpid}|notify enabled char=0000{hex4}-0000-1000-8000-00805f9b34fb
BT_Link|{hpid}|battery {percent}%[[ charging]]
BT_Link|{hpid}|connect timeout after {int}ms, retry {small}/{small}
BT_Link|{hpid}|connected
BT_Link|{hpid}|disconnected
SYNC_Cloud|{hpid}|pull since={syncversion} size={small}
SYNC_Cloud|{hpid}|push ok|{table}|{small} records|{int}ms
SYNC_Cloud|{hpid}|push failed|{table}|code={httpcode}|msg={syncmessage}
SYNC_Cloud|{hpid}|conflict key={table}/{epochms} local={syncversion} remote={syncversion} keep {localremote}
SYNC_Cloud|{hpid}|no network, skip
SYNC_Cloud|{hpid}|not logged in, skip
ALARM_Smart|{hpid}|next alarm {clock2} days={weekdays}
ALARM_Smart|{hpid}|no alarm
GOAL_Mgr|{hpid}|goal {goalkind} reached value={int} target={goal}
GOAL_Mgr|{hpid}|goal changed {goalkind} {goal}=>{goal} by {goalby}
GOAL_Mgr|{hpid}|badge {badge} granted to user {masked2}
TRACK_Gps|{hpid}|point lat={latlon} lon={latlon} acc={accuracy} spd={float} sat={small}
TRACK_Gps|{hpid}|start sport={sport} indoor={truefalse2}
TRACK_Gps|{hpid}|pause sport={sport}
TRACK_Gps|{hpid}|resume sport={sport}
TRACK_Gps|{hpid}|finish sport={sport} dist={float}km time={duration} pace={pace} laps=[{laps}]
TRACK_Gps|{hpid}|signal lost for {count}s
TRACK_Gps|{hpid}|signal found
VOICE_Coach|{hpid}|speak "{coach}"
SPO2_Sensor|{hpid}|spo2={spo2}|state={wearing}
STRESS_Calc|{hpid}|score={stress} level={stresslevel} samples={int}
WEIGHT_Scale|{hpid}|{float}kg|{bodyfat}|{impedance}|user={userornull}
USER_Profile|{hpid}|load height={int} weight={float} gender={gender} birthday={birthday}
USER_Profile|{hpid}|permission {healthpermission} granted
USER_Profile|{hpid}|permission {healthpermission} denied
MAIN_Process|{hpid}|onCreate savedState={savedstate}
MAIN_Process|{hpid}|onDestroy
MAIN_Process|{hpid}|low memory level {memorylevel}
MAIN_Process|{hpid}|uncaught {healtherror}
STEP_Counter|{hpid}|time jump {signedms}ms, day {dayno} -> {dayno}
STEP_Counter|{hpid}|sensor not supported
STEP_Counter|{hpid}|reboot detected, base {int} old {int}
STEP_Store|{hpid}|clear cache older than {small} {dayword}
STEP_Store|{hpid}|corrupt record [{record}]
WIDGET_Step|{hpid}|update ids=[{widgetids}]
JOB_Daily|{hpid}|job {small} done in {ms}[[ next {clock2}]]
JOB_Daily|{hpid}|job {small} rescheduled: {jobreason}
FW_Update|{hpid}|band {bandmodel} {version} -> {version} {percent}%
FW_Update|{hpid}|band {bandmodel} is up to date
FW_Update|{hpid}|verify failed crc=0x{hex4} expect=0x{hex4}
"""

COMPUTE = r"""
nova.osapi_compute.wsgi.server [{oscontext}] {ip} "{verb} {novauri} HTTP/1.1" status: {restcode} len: {int} time: {elapsed}
nova.metadata.wsgi.server [-] {metadataclient} "GET {metadatauri} HTTP/1.1" status: {restcode} len: {int} time: {elapsed}
nova.compute.manager [{oscontext}] [instance: {uuid}] VM {lifecycle} (Lifecycle Event)
nova.virt.libvirt.imagecache [{osperiodic}] image {uuid} at ({imagebase}): checking
nova.virt.libvirt.imagecache [{osperiodic}] image {uuid} at ({imagebase}): in use: on this node {small} local, {small} on other nodes sharing this instance storage
nova.compute.resource_tracker [{osperiodic}] Final resource view: name={host} phys_ram={int}MB used_ram={int}MB phys_disk={int}GB used_disk={int}GB total_vcpus={count} used_vcpus={small} pci_stats={pcistats}
neutron.wsgi [{oscontext}] {ip} "{verb} {neutronuri} HTTP/1.1" status: {restcode}  len: {int} time: {elapsed}
nova.compute.manager [{oscontext}] [instance: {uuid}] Took {float} seconds to build instance.
nova.compute.manager [{oscontext}] [instance: {uuid}] Took {float} seconds to spawn the instance on the hypervisor.
nova.compute.manager [{oscontext}] [instance: {uuid}] Took {float} seconds to destroy the instance on the hypervisor.
nova.compute.manager [{oscontext}] [instance: {uuid}] Took {float} seconds to deallocate network for instance.
nova.compute.claims [{oscontext}] [instance: {uuid}] Attempting claim: memory {int} MB, disk {count} GB, vcpus {small} CPU
nova.compute.claims [{oscontext}] [instance: {uuid}] Total {resource}: {int} {resourceunit}, used: {int}.00 {resourceunit}
nova.compute.claims [{oscontext}] [instance: {uuid}] {resource} limit: {int}.00 {resourceunit}, free: {int}.00 {resourceunit}
nova.compute.claims [{oscontext}] [instance: {uuid}] {resource} limit not specified, defaulting to unlimited
nova.compute.claims [{oscontext}] [instance: {uuid}] Claim successful on node {host}
nova.virt.libvirt.driver [{oscontext}] [instance: {uuid}] Creating image(s)
nova.virt.libvirt.driver [-] [instance: {uuid}] Instance spawned successfully.
nova.virt.libvirt.driver [-] [instance: {uuid}] Instance destroyed successfully.
nova.virt.libvirt.driver [-] [instance: {uuid}] Instance rebooted successfully.
nova.virt.libvirt.driver [{oscontext}] [instance: {uuid}] Deleting instance files {imagebase}_del
nova.virt.libvirt.driver [{oscontext}] [instance: {uuid}] Deletion of {imagebase}_del complete
nova.compute.manager [{oscontext}] [instance: {uuid}] Terminating instance
nova.compute.manager [{osperiodic}] [instance: {uuid}] During sync_power_state the instance has a pending task ({ostask}). Skip.
nova.virt.libvirt.imagecache [{osperiodic}] Active base files: {imagebases}
nova.virt.libvirt.imagecache [{osperiodic}] Removable base files: {imagebases}
nova.virt.libvirt.imagecache [{osperiodic}] Unknown base file: {imagebase}
nova.virt.libvirt.imagecache [{osperiodic}] Base or swap file too young to remove: {imagebase}
keystone.common.wsgi [{oscontext}] {verb} {url}
keystone.token.providers.fernet.utils [{oscontext}] Loaded {small} encryption keys (max_active_keys={small}) from: /etc/keystone/fernet-keys/
keystone.middleware.auth [{oscontext}] Authorization failed. {authfailure} from {ip}
nova.scheduler.client.report [{osperiodic}] Set inventory for provider {uuid} generation {osnull} with data: {inventory}
nova.scheduler.filter_scheduler [{oscontext}] Selected host: ({host}, {host}) ram: {int}MB disk: {int}MB io_ops: {small} instances: {count}. Weight {weight} from {count} hosts
nova.filters [{oscontext}] Filter {schedfilter} returned {small} host(s)
nova.scheduler.host_manager [{oscontext}] Host filter forcing available hosts to {osnull}
nova.scheduler.host_manager [{oscontext}] Successfully synced instances from host '{host}'.
nova.compute.manager [{oscontext}] [instance: {uuid}] Attaching volume {uuid} to /dev/vd{vd}
nova.compute.manager [{oscontext}] [instance: {uuid}] Detaching volume {uuid}
nova.compute.manager [{oscontext}] [instance: {uuid}] Rebooting instance
nova.compute.manager [{oscontext}] [instance: {uuid}] Pausing
nova.compute.manager [{oscontext}] [instance: {uuid}] Unpausing
nova.compute.manager [{oscontext}] [instance: {uuid}] Get console output
nova.compute.manager [{oscontext}] [instance: {uuid}] Setting instance vm_state to {vmstate}
nova.compute.manager [{oscontext}] [instance: {uuid}] Instance failed to spawn: {oserror}
nova.compute.manager [{oscontext}] Neutron deleted interface {uuid}; detaching it from the instance and deleting it from the info cache
nova.compute.manager [{osperiodic}] Running instance usage audit for host {host} from {iso2} to {iso2}. {small} instances.
nova.compute.manager [{osperiodic}] While synchronizing instance power states, found {small} instances in the database and {small} instances on the hypervisor.
nova.virt.libvirt.migration [{oscontext}] [instance: {uuid}] Increasing downtime to {int} ms after {small} sec elapsed time
nova.virt.libvirt.driver [{oscontext}] [instance: {uuid}] Migration running for {int} secs, memory {percent}% remaining (bytes processed={big}, remaining={big}, total={big}); disk {percent}% remaining (bytes processed=0, remaining=0, total=0).
nova.network.neutron [{oscontext}] [instance: {uuid}] Updating instance_info_cache with network_info: [{networkinfo}]
nova.api.openstack.wsgi [{oscontext}] HTTP exception thrown: {httpexception}
nova.api.openstack.requestlog [{oscontext}] {ip} "{verb} {novauri}" status: {restcode} len: {osdash} microversion: {microversion} time: {elapsed}
neutron.plugins.ml2.managers [{oscontext}] Failed to bind port {uuid} on host {host} for vnic_type {vnic} using segments [{segments}]
neutron.agent.dhcp.agent [-] Trigger reload_allocations for port {osport}
neutron.agent.dhcp.agent [{osperiodic}] Synchronizing state
neutron.agent.dhcp.agent [{osperiodic}] Synchronizing state complete
neutron.agent.dhcp.agent [-] DHCP configuration for ports {{osset}} is completed
neutron.plugins.ml2.drivers.openvswitch.agent.ovs_neutron_agent [{osperiodic}] Port {uuid} updated. Details: {portdetails}
neutron.plugins.ml2.drivers.openvswitch.agent.ovs_neutron_agent [{osperiodic}] Agent rpc_loop - iteration:{int} - port information retrieved. Elapsed:{elapsed}
neutron.agent.securitygroups_rpc [{osperiodic}] Preparing filters for devices {{osset}}
neutron.agent.l3.ha [-] Router {uuid} transitioned to {ha} on agent {host}
cinder.volume.flows.manager.create_volume [{oscontext}] Volume {uuid}: being created as {volumetype} with specification: {volumespec}
cinder.volume.manager [{oscontext}] Created volume successfully.
cinder.volume.manager [{oscontext}] Deleted volume successfully.
glance.api.v2.images [{oscontext}] Image {uuid} {glance}
oslo_messaging._drivers.impl_rabbit [-] [{uuid}] AMQP server on {hostport} is unreachable: {amqperror}. Trying again in {small} seconds.
oslo_messaging._drivers.impl_rabbit [-] [{uuid}] Reconnected to AMQP server on {hostport} via [amqp] client with port {port}.
oslo_service.periodic_task [{osperiodic}] Error during ComputeManager.{periodic}: {oserror}
oslo.service.loopingcall [-] Function '{loopfunction}' run outlasted interval by {float} sec
nova.service [-] Starting {osservice} node (version {version}[[-{small}.el9]])
oslo_concurrency.lockutils [{oscontext}] Lock "{oslock}" acquired by "{oscallable}" :: waited {float}s
oslo_concurrency.lockutils [{oscontext}] Lock "{oslock}" "released" by "{oscallable}" :: held {float}s
"""

VOICE = r"""
    -- Executing [{exten}@{dialplan}:{small}] {dialapp}("{channel}", "{appdata}") in new stack
    -- Called {dialed}
    -- {channel} is ringing
    -- Channel {channel} joined 'simple_bridge' basic-bridge <{uuid}>
    -- Channel {channel} left 'simple_bridge' basic-bridge <{uuid}>
  == Spawn extension ({dialplan}, {exten}, {small}) exited non-zero on '{channel}'
    -- {channel} answered {channel}
    -- <{channel}> Playing '{sound2}.{codecfile}' (language '{lang}')
  == Using SIP RTP TOS bits {count}
  == Using SIP RTP CoS mark {digit}
    -- Registered SIP '{endpointname}' at {ipport}
Registration from '"{callername}" <sip:{exten}@{sipdomain}>' failed for '{ipport}' - {sipfailure}
Request 'INVITE' from '{sipuri}' failed for '{ipport}' (callid: {callid}) - {sipfailure2}
Peer '{endpointname}' is now Reachable. ({count}ms / 2000ms)
Peer '{endpointname}' is now Lagged. ({int}ms / 2000ms)
Peer '{endpointname}' is now UNREACHABLE!  Last qualify: {small}
    -- {channel} is making progress passing it to {channel}
    -- Got SIP response {sipcode} "{sipreason}" back from {ipport}
    -- {channel} is busy
    -- {channel} is circuit-busy
  == Everyone is busy/congested at this time ({digit}:{digit}/{digit}/{digit})
    -- No one is available to answer at this time ({digit}:{digit}/{digit}/{digit})
    -- Nobody picked up in {int} ms
    -- Auto fallthrough, channel '{channel}' status is '{dialstatus}'
    -- Started music on hold, class '{mohclass}', on channel '{channel}'
    -- Stopped music on hold on {channel}
    -- Goto ({dialplan},{exten},{small})
    -- Hungup '{channel}'
  == Endpoint {endpointname} is now {endpointstate}
    -- Contact {endpointname}/{contacturi};ob is now {contactstate}.  RTT: {rtt} msec
    -- Added contact '{contacturi};transport={siptransport}' to AOR '{endpointname}' with expiration of {int} seconds
    -- Removed contact '{contacturi};transport={siptransport}' from AOR '{endpointname}' due to {contactdue}
  == Contact {endpointname}/{contacturi};ob has been deleted
    -- Unregistered SIP '{endpointname}'
  == Extension Changed {exten}[{dialplan}] new state {extstate} for Notify User {endpointname}[[ (queued)]]
    -- Recording the message
    -- x=0, open writing:  /var/spool/asterisk/voicemail/default/{exten}/tmp/{hex6} format: {recformat}, {recpointer}
    -- User ended message by pressing {dtmf}
    -- Recording automatically stopped after a silence of {small} seconds
    -- User hung up
Channel '{channel}' sent to invalid extension but no invalid handler: context,exten,priority={dialplan},{exten},{small}
Call from '{peername}' ({ipport}) to extension '{dialnumber}' rejected because extension not found in context '{dialplan}'.
Unable to create channel of type '{chantech}' (cause {count} - {q850})
Dropping incompatible voice frame on {channel} of format {codec} since our native format has changed to ({codecs})
No compatible codecs, not accepting this offer!
Retransmission timeout reached on transmission {callid} for seqno {int} ({criticality} {sipmessage}) -- See https://wiki.example.org/sip/retransmissions
Maximum retries exceeded on transmission {callid} for seqno {int} ({criticality} {sipmessage})
Hanging up call {callid} - no reply to our critical packet (see https://wiki.example.org/sip/retransmissions).
Disconnecting call '{channel}' for lack of RTP activity in {count} seconds
RTCP {rtcpdir} transmission error, rtcp halted: {sockerr}
Autodestruct on dialog '{callid}' with owner {channel} in place (Method: {sipmethod}). Rescheduling destruction for 10000 ms
{channel}: Redirecting to {dialnumber}[[, reason {diversion}]]
Exceptionally long {queuekind} queue length queuing to {channel}
Conference {exten}: '{callername}' <{dialnumber}> joined as {confrole}, {confcount}
Queue '{callqueue}': member {memberlist} {memberstate}
Queue '{callqueue}' has {small} {callword} (max {maxcalls}) in '{strategy}' strategy ({small}s holdtime, {count}s talktime), W:{digit}, C:{count}, A:{small}, SL:{float}% within {small}s
    -- Nobody answered in queue {callqueue}, trying next member in {small} {secondword}
    -- AGI Script {agi} completed, returning {agireturn}
    -- Launched AGI Script {agi}
AGI Tx >> {agitx}
AGI Rx << {agirx}
  == Manager '{amiuser}' logged on from {ip}
  == Manager '{amiuser}' logged off from {ip}
{ip} failed to authenticate as '{amiuser}'
  == Begin MixMonitor Recording {channel}
  == End MixMonitor Recording {channel}
  == MixMonitor close filestream ({recformat2})
    -- Fax session {small} {faxstate}: {faxpages}
Reloading module '{astmodule}' ({astdescription})
  == Parsing '/etc/asterisk/{noun}.conf': {parsing}
Primary D-Channel on span {digit} {updown2}
    -- Accepting call from '{dialnumber}' to '{exten}' on channel {digit}/{count}, span {digit}
    -- Channel {digit}/{count}, span {digit} got hangup request, cause {count}
    -- Span {digit}: Channel {digit}/{count} restarted
Alarm cleared on channel {count}
Detected alarm on channel {count}: {dahdialarm}
Asterisk Ready.
"""

HUB = r"""
z2m:mqtt: MQTT publish: topic '{z2mtopic}', payload '{z2mpayload}'
zwave: Node {small}: value updated: {zwaveclass} {endpoint} {zwaveproperty}: {zwavevalue} => {zwavevalue}
State of {entityid} changed from {hastate} to {hastate}
[sensor:093]: '{sensorname}': Sending state {reading2} {sensorunit} with {digit} decimals of accuracy
hue: light {count} "{friendly}" {huechange}
rule "{rulename}" triggered by {trigger}
rule "{rulename}" skipped: condition {small} ({conditiontext}) not met
rule "{rulename}" finished in {ms}[[, {small} actions failed]]
scene {scene} activated by {actor}
Item '{itemname}' received command {command2}
Item '{itemname}' predicted to become {command2}
Item '{itemname}' changed from {itemstate} to {itemstate}
Thing '{thinguid}' changed from {thingstatus} to {thingstatus}
[wifi:564]: Signal strength: {dbm} dB {bars}
thermostat {room}: {temp2} C, target {target}, valve {valve}
thermostat {room}: window open, heating paused
thermostat {room}: boost on for {count} min
thermostat {room}: boost off
thermostat {room}: child lock on
z2m: Device '{friendly}' joined
z2m: Device '{friendly}' left the network
z2m: Starting interview of '{friendly}'
z2m: Successfully interviewed '{friendly}', device has successfully been paired
z2m: Failed to interview '{friendly}', device has not successfully been paired
z2m: Device '{friendly}' is supported, identified as: {vendor} {modelname} ({modelcode})
z2m: Publish '{setget}' '{z2mkey}' to '{friendly}' failed: '{z2merror}'
z2m: Failed to ping '{friendly}' (attempt {digit}/{digit}, Read 0x{hex16}/{digit} genBasic(["zclVersion"], {"timeout":{int},"disableResponse":false}) failed ({zigbeefail}))
z2m: Zigbee: allowing new devices to join[[ via '{friendly}']].
z2m: Zigbee: disabling joining new devices.
z2m: Configuring '{friendly}'
z2m: Successfully configured '{friendly}'
z2m: OTA update of '{friendly}': {otaprogress}
z2m: Currently {count} devices are joined:
z2m: Disconnected from MQTT server
battery of {friendly} is {battery}
battery of {friendly} replaced
door {room} opened[[ by {actor}]]
door {room} closed
door {room} locked by {actor}
door {room} jammed
motion in {rooms}
no motion in {rooms} for {durationwords}
presence: {person} {presence}
presence: nobody home since {clock2}
energy: {wattage} W total, {solar}, grid {gridflow}
energy: tariff switched to {tariff} at {price} ct/kWh
shutter {room}: moving {updown3} to {percent} %
shutter {room}: stopped at {percent} %
shutter {room}: calibration lost
camera {room}: stream {camerastream}
camera {room}: {detected} detected, score {conf}
voice: "{utterance}" -> {voiceintent}
voice: "{utterance}" not understood
weather: {weather}, {temp2} C, wind {float} km/h {winddir}, next update in {durationwords}
alarm: armed ({armmode}) by {actor}
alarm: disarmed by {actor}
alarm: triggered by {sensorlist}
Setup of {integration} is taking over 10 seconds.
Error fetching {integration} data: {haerror}
Finished fetching {integration} data in {float} seconds (success: {pybool})
Platform {integration} does not generate unique IDs. ID {entityunique} {duplicates} - ignoring {entityid}
Template variable {severity}: '{jinja}' is undefined when rendering '{{ {jinjatemplate} }}'
Login attempt or request with invalid authentication from {hahost} ({ip}). Requested URL: '{hauri}'. ({agent})
Updating {integration} {sensorkind} took longer than the scheduled update interval 0:00:{two}
{entitycount} of {integration} unavailable: {entitylist}
Device {mac2} has not reported for {durationwords}
coordinator reset, reason {resetreason}
backup {backupname} {backupstate}
"""

ENGINE = r"""
[o.e.c.m.MetadataMappingService] [{esnode}] [{esindex}/{esuid}] update_mapping [{estype}]
[i.s.s.query] [{esnode}] [{esindex}][{digit}] took[{estook}], took_millis[{int}], total_hits[{eshits}], stats[{esstats}], search_type[{essearch}], total_shards[{count}], source[{esquery}], id[{esopaque}]
[o.e.c.m.MetadataCreateIndexService] [{esnode}] [{esindex}] creating index, cause [{escause}], templates [{estemplates}], shards [{digit}]/[{digit}]
[o.e.m.j.JvmGcMonitorService] [{esnode}] [gc][{int}] overhead, spent [{estook}] collecting in the last [{estook}]
[o.e.c.r.a.AllocationService] [{esnode}] current.health="{eshealth}" message="Cluster health status changed from [{eshealth}] to [{eshealth}] (reason: [{esreason}])." previous.health="{eshealth}" reason="{esreason}"
[o.e.m.j.JvmGcMonitorService] [{esnode}] [gc][{esgen}][{int}][{count}] duration [{estook}], collections [{digit}]/[{estook}], total [{estook}]/[{estook}], memory [{essize}]->[{essize}]/[{essize}], all_pools {{espools}}
[i.i.s.index] [{esnode}] [{esindex}/{esuid}] took[{estook}], took_millis[{int}], type[_doc], id[{esdocid}], routing[{esrouting}], source[{esdoc}]
[o.e.x.i.IndexLifecycleTransition] [{esnode}] moving index [{esindex}] from [{ilmstep}] to [{ilmstep}] in policy [{espolicy}]
[o.e.d.c.m.IndexNameExpressionResolver] [{esnode}] no indices match the expression [{esindex}*]
[o.e.c.m.MetadataDeleteIndexService] [{esnode}] [{esindex}/{esuid}] deleting index
[o.e.c.s.ClusterApplierService] [{esnode}] added {{esdiscovery}}, term: {count}, version: {int}, reason: {applyreason}
[o.e.c.s.ClusterApplierService] [{esnode}] removed {{esdiscovery}}, term: {count}, version: {int}, reason: {applyreason}
[o.e.c.s.MasterService] [{esnode}] node-join[{esdiscovery} {joinword}], term: {count}, version: {int}, delta: added {{esdiscovery}}
[o.e.c.s.MasterService] [{esnode}] node-left[{esdiscovery} reason: {leftreason}], term: {count}, version: {int}, delta: removed {{esdiscovery}}
[o.e.c.s.MasterService] [{esnode}] elected-as-master ([{digit}] nodes joined)[{esdiscovery} completing election, _BECOME_MASTER_TASK_, _FINISH_ELECTION_], term: {count}, version: {int}, delta: master node changed {previous [{esprevious}], current [{esdiscovery}]}
[o.e.c.r.a.DiskThresholdMonitor] [{esnode}] low disk watermark [{watermark}] exceeded on [{esuid}][{esnode}][{path}] free: {essize}[{float}%], replicas will not be assigned to this node
[o.e.c.r.a.DiskThresholdMonitor] [{esnode}] high disk watermark [{watermark}] exceeded on [{esuid}][{esnode}][{path}] free: {essize}[{float}%], shards will be relocated away from this node; currently relocating away shards totalling [{int}] bytes[[; the node is expected to be below the low disk watermark when these relocations are complete]]
[o.e.c.r.a.DiskThresholdMonitor] [{esnode}] flood stage disk watermark [{watermark}] exceeded on [{esuid}][{esnode}][{path}] free: {essize}[{float}%], all indices on this node will be marked read-only
[o.e.c.r.a.DiskThresholdMonitor] [{esnode}] disk usage exceeded flood-stage watermark, index.blocks.read_only_allow_delete set on {esindices}
[o.e.c.c.FollowersChecker] [{esnode}] FollowerChecker{discoveryNode={esdiscovery}, failureCountSinceLastSuccess={digit}, [cluster.fault_detection.follower_check.retry_count]=3} disconnected
[o.e.c.c.FollowersChecker] [{esnode}] FollowerChecker{discoveryNode={esdiscovery}, failureCountSinceLastSuccess={digit}, [cluster.fault_detection.follower_check.retry_count]=3} marking node as faulty
[o.e.c.c.Coordinator] [{esnode}] master node [{esdiscovery}] failed, restarting discovery
[o.e.c.c.ClusterFormationFailureHelper] [{esnode}] master not discovered{esbootstrap}: have discovered {esdiscoverylist}; discovery will continue using {esaddresses} from hosts providers and {esdiscoverylist} from last-known cluster state; node term {count}, last-accepted version {int} in term {count}
[o.e.t.TcpTransport] [{esnode}] exception caught on transport layer [Netty4TcpChannel{localAddress=/{ipport}, remoteAddress={esremote}, profile=default}], closing connection
[o.e.h.AbstractHttpServerTransport] [{esnode}] caught exception while handling client http traffic, closing connection Netty4HttpChannel{localAddress=/{ip}:9200, remoteAddress={esremote}}
[o.e.h.AbstractHttpServerTransport] [{esnode}] publish_address {{ip}:9200}, bound_addresses {{esbound}}
[o.e.t.TransportService] [{esnode}] publish_address {{ip}:9300}, bound_addresses {{esbound}}
[o.e.t.TransportService] [{esnode}] Received response for a request that has timed out, sent [{essent}] ago, timed out [{essent}] ago, action [{esaction}], node [{esdiscovery}], id [{int}]
[o.e.t.OutboundHandler] [{esnode}] sending transport message [Request{{esaction}}{{int}}{{truefalse2}}] of size [{big}] on [Netty4TcpChannel{localAddress=/{ipport}, remoteAddress={esremote}, profile=default}] took [{int}ms] which is above the warn threshold of [5000ms]
[o.e.t.InboundHandler] [{esnode}] handling request [InboundMessage{Header{{int}}{8.{count}.0}{{int}}{{truefalse2}}{{truefalse2}}{{esaction}}}] took [{int}ms] which is above the warn threshold of [5000ms]
[o.e.i.b.HierarchyCircuitBreakerService] [{esnode}] attempting to trigger G1GC due to high heap usage [{big}]
[o.e.i.b.HierarchyCircuitBreakerService] [{esnode}] GC did bring memory usage down, before [{big}], after [{big}], allocations [{count}], duration [{count}]
[o.e.i.b.HierarchyCircuitBreakerService] [{esnode}] GC did not bring memory usage down, before [{big}], after [{big}], allocations [{count}], duration [{count}]
[r.suppressed] [{esnode}] path: {espath}, params: {{esparams}}, status: {httpstatus2}{esfailure}
[o.e.a.b.TransportShardBulkAction] [{esnode}] [{esindex}][{digit}] mapping update rejected by primary
[o.e.a.b.TransportShardBulkAction] [{esnode}] [{esshard}] failed to perform indices:data/write/bulk[s] on replica [{esindex}][{digit}], node[{esuid}], [R], s[{esshardstate}], a[id={esuid}]
[o.e.c.a.s.ShardStateAction] [{esnode}] [{esindex}][{digit}] received shard failed for shard id [{esshard}], allocation id [{esuid}], primary term [{digit}], message [{shardmessage}][[, failure [{esexception}]]]
[o.e.i.s.IndexShard] [{esnode}] [{esindex}][{digit}] primary-replica resync completed with {int} operations
[o.e.i.e.Engine] [{esnode}] [{esindex}][{digit}] failed engine [{engineword}]
[o.e.i.e.Engine] [{esnode}] [{esindex}][{digit}] now throttling indexing: numMergesInFlight={digit}, maxNumMerges={digit}
[o.e.i.e.Engine] [{esnode}] [{esindex}][{digit}] stop throttling indexing: numMergesInFlight={digit}, maxNumMerges={digit}
[o.e.i.r.PeerRecoveryTargetService] [{esnode}] recovery of [{esindex}][{digit}] from [{esdiscovery}] interrupted by network disconnect, will retry in [{estook}]; cause: [{esexception}]
[o.e.g.GatewayService] [{esnode}] recovered [{count}] indices into cluster_state
[o.e.c.m.MetadataUpdateSettingsService] [{esnode}] updating number_of_replicas to [{digit}] for indices {esindices}
[o.e.c.m.MetadataIndexTemplateService] [{esnode}] adding {templatekind} template [{espolicy}][[ for index patterns [{esindex}*]]]
[o.e.c.s.ClusterSettings] [{esnode}] updating [{essetting}] from [{essettingvalue}] to [{essettingvalue}]
[o.e.s.SnapshotsService] [{esnode}] snapshot [{esrepo}:{essnapshot}/{esuid}] started
[o.e.s.SnapshotsService] [{esnode}] snapshot [{esrepo}:{essnapshot}/{esuid}] completed with state [{snapstate}]
[o.e.s.SnapshotsService] [{esnode}] deleting snapshots [{essnapshotlist}] from repository [{esrepo}]
[o.e.r.VerifyNodeRepositoryAction] [{esnode}] [{esrepo}] failed to verify repository
[o.e.x.s.a.RealmsAuthenticator] [{esnode}] Authentication of [{esprincipal}] was terminated by realm [{esrealm}] - {esauthfail}
[o.e.x.s.a.AuthenticationService] [{esnode}] Authentication to realm {esrealm} failed - {esauthfail}[[ (Caused by {esexception})]]
[o.e.x.m.p.AbstractNativeProcess] [{esnode}] [{esjob}] [autodetect/{pid}] [{mlfile}@{int}] {mlmessage}
[o.e.x.m.j.p.a.AutodetectProcessManager] [{esnode}] [{esjob}] Setting job state to [{mlstate}], reason [{mlreason}]
[o.e.p.PluginsService] [{esnode}] loaded module [{esmodule}]
[o.e.p.PluginsService] [{esnode}] no plugins loaded
[o.e.e.NodeEnvironment] [{esnode}] using [{digit}] data paths, mounts [{esmounts}], net usable_space [{essize}], net total_space [{essize}], types [{esfs}]
[o.e.e.NodeEnvironment] [{esnode}] heap size [{essize}], compressed ordinary object pointers [{truefalse2}]
[o.e.n.Node] [{esnode}] version[{version}], pid[{pid}], build[{esbuild}/{sha}/2026-0{digit}-{day}T{clock}.{three}Z], OS[Linux/{version}-{count}-generic/amd64], JVM[{esjvm}/{version}/{version}+{digit}]
[o.e.n.Node] [{esnode}] JVM arguments [{jvmargs}]
[o.e.n.Node] [{esnode}] started {{esdiscovery}}
[o.e.n.Node] [{esnode}] stopping ...
[o.e.n.Node] [{esnode}] stopped
[o.e.d.a.a.i.CreateIndexRequest] [{esnode}] {esdeprecation}
[o.e.b.BootstrapChecks] [{esnode}] max virtual memory areas vm.max_map_count [{int}] is too low, increase to at least [262144]
[o.e.i.g.LocalDatabases] [{esnode}] initialized default databases [{geodb}], config databases [{geodb}] and watching [{path}] for changes
"""

FIREWALL = r"""
%ASA-6-302013: Built {asadirection} TCP connection {big} for {asaif}:{ip}/{port} ({ip}/{port}) to {asaif}:{ip}/{asaport} ({ip}/{asaport})[[ ({asauser})]]
%ASA-6-302014: Teardown TCP connection {big} for {asaif}:{ip}/{asaport} to {asaif}:{ip}/{port} duration {asaduration} bytes {big}[[ {asareason}]][[ ({asauser})]]
[UFW BLOCK] IN={fwin} OUT={fwout} MAC={fwmac} SRC={ip} DST={ip} LEN={fwlen} TOS=0x{hex2} PREC=0x{fwprec} TTL={count} ID={int} {fwflags}PROTO={fwproto}
%ASA-4-106023: Deny {asaproto} src {asaif}:{asaaddress}[[ ({asauser})]] dst {asaif}:{asaaddress} by access-group "{asaacl}" [0x{hex8}, 0x{hex8}]
filterlog[{pid}]: {count},,,{pfid},{pfif},match,{pfaction},{pfdirection},4,0x{hex2},,{count},{int},0,{pffrag},{pfproto},{int},{ip},{ip},{pftail}
%ASA-6-302015: Built {asadirection} UDP connection {big} for {asaif}:{ip}/{port} ({ip}/{port}) to {asaif}:{ip}/{asaport} ({ip}/{asaport})
%ASA-6-302016: Teardown UDP connection {big} for {asaif}:{ip}/{asaport} to {asaif}:{ip}/{port} duration {asaduration} bytes {int}
%ASA-6-305011: Built {asastatic} {asaxproto} translation from {asaif}:{ip}/{port} to {asaif}:{ip}/{port}
%ASA-6-305012: Teardown {asastatic} {asaxproto} translation from {asaif}:{ip}/{port} to {asaif}:{ip}/{port} duration {asaduration}
%ASA-6-302020: Built {asadirection} ICMP connection for faddr {ip}/{small} gaddr {ip}/{small} laddr {ip}/{small}[[ type {small} code {digit}]]
%ASA-6-302021: Teardown ICMP connection for faddr {ip}/{small} gaddr {ip}/{small} laddr {ip}/{small}[[ type {small} code {digit}]]
%ASA-6-106100: access-list {asaacl} {asaaction} {asaproto} {asaif}/{ip}({port}) -> {asaif}/{ip}({asaport}) hit-cnt {count} {asahit} [0x{hex8}, 0x{hex8}]
%ASA-2-106001: Inbound TCP connection denied from {ip}/{port} to {ip}/{asaport} flags {tcpflags} on interface {asaif}
%ASA-2-106006: Deny inbound UDP from {ip}/{port} to {ip}/{asaport} on interface {asaif}
%ASA-2-106007: Deny inbound UDP from {ip}/{port} to {ip}/53 due to DNS {dnskind}
%ASA-6-106015: Deny TCP (no connection) from {ip}/{port} to {ip}/{asaport} flags {tcpflags} on interface {asaif}
%ASA-1-106021: Deny {asaproto} reverse path check from {ip} to {ip} on interface {asaif}
%ASA-3-106014: Deny inbound icmp src {asaif}:{ip} dst {asaif}:{ip} (type {small}, code {digit})
%ASA-4-313005: No matching connection for ICMP error message: icmp src {asaif}:{ip} dst {asaif}:{ip} (type {small}, code {digit}) on {asaif} interface.  Original IP payload: {asapayload}.
%ASA-4-419002: Duplicate TCP SYN from {asaif}:{ip}/{port} to {asaif}:{ip}/{asaport} with different initial sequence number
%ASA-4-733100: [{threatobject}] drop rate-{digit} exceeded. Current burst rate is {int} per second, max configured rate is {int}; Current average rate is {int} per second, max configured rate is {int}; Cumulative total count is {big}
%ASA-4-733101: {threathost} {ip} is {threatstate}. Current burst rate is {int} per second, max configured rate is {int}; Current average rate is {int} per second, max configured rate is {int}; Cumulative total count is {big}
%ASA-4-411001: Line protocol on Interface {asainterface}, changed state to up
%ASA-4-411002: Line protocol on Interface {asainterface}, changed state to down
%ASA-6-605005: Login permitted from {asamanager}/{port} to {asaif}:{ip}/{asaservice} for user "{asalogin}"
%ASA-6-605004: Login denied from {asamanager}/{port} to {asaif}:{ip}/{asaservice} for user "{asalogin}"
%ASA-5-111008: User '{asalogin}' executed the '{asacommand}' command.
%ASA-5-111010: User '{asalogin}', running '{asaapp}' from IP {asamanager}, executed '{asacommand}'
%ASA-5-111007: Begin configuration: {asamanager} reading from {asasource}
%ASA-5-502103: User priv level changed: Uname: {asalogin} From: {digit} To: {asapriv}
%ASA-6-113004: AAA user {aaakind} Successful : server =  {ip} : user = {asalogin}
%ASA-6-113005: AAA user {aaakind} Rejected : reason = {aaareason} : server = {ip} : user = {asalogin} : user IP = {ip}
%ASA-6-113012: AAA user authentication Successful : local database : user = {asalogin}
%ASA-4-113019: Group = {vpngroup}, Username = {asalogin}, IP = {ip}, Session disconnected. Session Type: {vpnkind}, Duration: {vpnduration}, Bytes xmt: {big}, Bytes rcv: {big}, Reason: {vpnreason}
%ASA-6-113039: Group <{vpngroup}> User <{asalogin}> IP <{ip}> AnyConnect parent session started.
%ASA-6-722022: Group <{vpngroup}> User <{asalogin}> IP <{ip}> {vpntransport} SVC connection established {vpncompression} compression
%ASA-5-722033: Group <{vpngroup}> User <{asalogin}> IP <{ip}> First {vpntransport} SVC connection established for SVC session.
%ASA-5-722037: Group <{vpngroup}> User <{asalogin}> IP <{ip}> SVC closing connection: {vpnclosing}.
%ASA-4-722051: Group <{vpngroup}> User <{asalogin}> IP <{ip}> IPv4 Address <{ip}> IPv6 address <{vpnip6}> assigned to session
%ASA-6-725001: Starting SSL handshake with {sslpeer} {asaif}:{ip}/{port} to {ip}/{asaport} for {protocol} session
%ASA-6-725002: Device completed SSL handshake with {sslpeer} {asaif}:{ip}/{port} to {ip}/{asaport} for {protocol} session
%ASA-6-725007: SSL session with {sslpeer} {asaif}:{ip}/{port} to {ip}/{asaport} terminated
%ASA-7-725012: Device chooses cipher {cipher} for the SSL session with {sslpeer} {asaif}:{ip}/{port} to {ip}/{asaport}
%ASA-5-713041: {ikepeer} IKE Initiator: New Phase {ikephase}, Intf {asaif}, IKE Peer {ip}  local Proxy Address {ip}, remote Proxy Address {ip},  Crypto map ({vpngroup})
%ASA-5-713119: {ikepeer} PHASE {digit} COMPLETED
%ASA-3-713902: {ikepeer} {ikeproblem}
%ASA-6-602303: IPSEC: An {asadirection} {ipseckind} SA (SPI= 0x{hex8}) between {ip} and {ip} (user= {asalogin}) has been created.
%ASA-6-602304: IPSEC: An {asadirection} {ipseckind} SA (SPI= 0x{hex8}) between {ip} and {ip} (user= {asalogin}) has been deleted.
%ASA-1-104001: (Primary) Switching to ACTIVE - {failoverwhy}.
%ASA-1-104002: (Primary) Switching to STANDBY - {failoverwhy}.
%ASA-1-105005: ({failoverunit}) Lost Failover communications with mate on interface {asaif}
%ASA-1-105008: ({failoverunit}) Testing Interface {asaif}
%ASA-1-105009: ({failoverunit}) Testing on interface {asaif} {failovertest}
%ASA-3-210005: LU allocate {luword} failed
%ASA-3-321007: System is low on free memory blocks of size {int} ({small} CNT out of {int} MAX)
%ASA-5-321001: Resource '{asaresource}' limit of {int} reached for {asacontext}
%ASA-3-202010: NAT pool exhausted. Unable to create {asaxproto} connection from {asaif}:{ip}/{port} to {asaif}:{ip}/{asaport}
%ASA-4-405001: Received ARP {arpkind} collision from {ip}/{cmac} on interface {asaif}[[ with existing ARP entry {ip}/{cmac}]]
%ASA-5-304001: {asaproxied}{ip} Accessed URL {ip}:{url}
%ASA-6-199018: {asakernel}
nf_conntrack: nf_conntrack: table full, dropping packet
nf_conntrack: default automatic helper assignment has been turned off for security reasons and CT-based firewall rule not found. Use the iptables CT target to attach helpers instead.
TCP: {fwin2}: Driver has suspect GRO implementation, TCP performance may be compromised.
dpinger: {gateway} {ip}: Alarm latency {int}us stddev {int}us loss {percent}%
dpinger: {gateway} {ip}: sendto error: {small2}
rc.gateway_alarm[{pid}]: >>> Gateway alarm: {gateway} (Addr:{ip} Alarm:{digit} RTT:{int}.{three}ms RTTsd:.{three}ms Loss:{percent}%)
php-fpm[{pid}]: /index.php: Successful login for user '{asalogin}' from: {ip} ({fwauth})
php-fpm[{pid}]: /index.php: webConfigurator authentication error for user '{asalogin}' from: {ip}
check_reload_status[{pid}]: {pfreload}
snort[{pid}]: [1:{int}:{count}] {snortmessage} [Classification: {snortclass}] [Priority: {digit}] {{snortproto}} {ipport} -> {ipport}
"""

LAPTOP = r"""
audit: type={int} audit({big}.{three}:{int}): {auditbody}
{wlif}: send auth to {mac} (try {digit}/3)
{wlif}: associate with {mac} (try {digit}/3)
{wlif}: associated
{wlif}: authenticated
{wlif}: RX AssocResp from {mac} (capab=0x{hex4} status={digit} aid={digit})
{wlif}: deauthenticated from {mac} (Reason: {wlreason})
{wlif}: deauthenticating from {mac} by local choice (Reason: {wlreason})
{wlif}: Limiting TX power to {count} ({count} - {digit}) dBm as advertised by {mac}
usb {usbport}: new {usbspeed} USB device number {count} using xhci_hcd
usb {usbport}: New USB device found, idVendor={hex4}, idProduct={hex4}, bcdDevice={digit}{digit}.{digit}{digit}
usb {usbport}: New USB device strings: Mfr={digit}, Product={digit}, SerialNumber={digit}
usb {usbport}: Product: {usbproduct}
usb {usbport}: Manufacturer: {usbvendor}
usb {usbport}: SerialNumber: {usbserial}
usb {usbport}: USB disconnect, device number {count}
usb {usbport}: device descriptor read/{usbread}, error -{count}
usb {usbport}: device not accepting address {count}, error -71
usb {usbport}: reset {usbspeed} USB device number {count} using xhci_hcd
usb usb{digit}-port{digit}: attempt power cycle
usb usb{digit}-port{digit}: unable to enumerate USB device
usb usb{digit}-port{digit}: Cannot enable. Maybe the USB cable is bad?
scsi {scsi}: Direct-Access     {scsidevice} PQ: 0 ANSI: {digit}
sd {scsi}: [sd{sdletter}] {big} 512-byte logical blocks: ({sdsize}/{sdsize2})
sd {scsi}: [sd{sdletter}] Write Protect is {sdswitch}
sd {scsi}: [sd{sdletter}] Attached SCSI {sdkind}
sd {scsi}: [sd{sdletter}] Synchronizing SCSI cache
 sd{sdletter}:{partitions}
input: {inputname} as /devices/{devpath}/input/input{count}
hid-generic {hidid}: {hidnames}: {hidkind} [{inputname}] on {hidwhere}
PM: suspend entry ({pmkind})
PM: suspend exit
PM: suspend devices took {digit}.{three} seconds
Freezing user space processes completed (elapsed {digit}.{three} seconds)
Freezing user space processes failed after {digit}{digit}.{three} seconds ({small} tasks refusing to freeze, wq_busy=0):
OOM killer disabled.
OOM killer enabled.
ACPI: EC: interrupt blocked
ACPI: EC: interrupt unblocked
ACPI: {acpitype}: Failed to {acpiverb} _{acpimethod} ({acpistatus})[[: {text}]]
ACPI BIOS Error (bug): Could not resolve symbol [{acpisymbol}], AE_NOT_FOUND ({big}/psargs-{int})
ACPI Error: Aborting method {acpisymbol} due to previous error ({acpistatus}) ({big}/psparse-{int})
thermal thermal_zone{digit}: failed to read out thermal zone (-{count})
mce: CPU{small}: Core temperature above threshold, cpu clock throttled (total events = {int})
mce: CPU{small}: Core temperature/speed normal
i915 {pci}: [drm] Finished loading DMC firmware i915/{dmc}_dmc_ver{digit}_{small2}.bin (v{digit}.{small2})
i915 {pci}: [drm] *ERROR* CPU pipe {drmpipe} FIFO underrun[[: {drmunder}]]
i915 {pci}: [drm] *ERROR* Atomic update failure on pipe {drmpipe} (start={int} end={int}) time {int} us, min {int}, max {int}, scanline start {int}, end {int}
i915 {pci}: [drm] GPU HANG: ecode {count}:{digit}:{hex8}[[, in {drmprocess} [{pid}]]]
i915 {pci}: [drm] Resetting {drmengine} for {drmresetwhy}
snd_hda_codec_{sndvendor} {hdaudio}: autoconfig for {sndcodec}: line_outs={digit} ({sndpins}) type:{sndtype}
snd_hda_codec_{sndvendor} {hdaudio}:    speaker_outs={digit} ({sndpins})
snd_hda_codec_{sndvendor} {hdaudio}:      {sndinput}=0x{hex2}
sof-audio-pci-intel-{sndplatform} {pci}: ipc tx error for 0x{hex8} (msg/reply size: {count}/{count}): -{count}
sof-audio-pci-intel-{sndplatform} {pci}: Firmware info: version {digit}:{digit}:{digit}-{hex4}{digit}
iwlwifi {pci}: Microcode SW error detected. Restarting 0x{hex8}.
iwlwifi {pci}: loaded firmware version {count}.{hex8}.0 {iwlfile} op_mode iwlmvm
iwlwifi {pci}: 0x{hex8} | {iwlregister}
Bluetooth: hci{digit}: Waiting for firmware download to complete
Bluetooth: hci{digit}: Firmware loaded in {big} usecs
Bluetooth: hci{digit}: command 0x{hex4} tx timeout
Bluetooth: hci{digit}: unexpected event for opcode 0x{hex4}
Bluetooth: hci{digit}: Found device firmware: intel/ibt-{btfirmware}
nvme nvme{digit}: {nvmequeues} default/read/poll queues
nvme nvme{digit}: I/O {int} QID {digit} timeout, aborting
nvme nvme{digit}: I/O {int} QID {digit} timeout, reset controller
EXT4-fs ({extdevice}): mounted filesystem {uuid} {extmode} with ordered data mode. Quota mode: {extquota}.
EXT4-fs ({extdevice}): re-mounted {uuid} {extmode}. Quota mode: {extquota}.
EXT4-fs ({extdevice}): unmounting filesystem {uuid}.
EXT4-fs error (device {extdevice}): {extfunction}:{int}: inode #{int}: comm {comm}: {extproblem}
I/O error, dev sd{sdletter}, sector {big} op 0x{digit}:({ioop}) flags 0x{hex} phys_seg {small} prio class {digit}
Buffer I/O error on dev {extdevice}, logical block {int}, {bioword}
{comm}[{pid}]: segfault at {hex} ip {hex16} sp {hex16} error {digit} in {segfile}[{hex12},{hex6}+{hex6}][[ likely on CPU {small} (core {small}, socket 0)]]
traps: {comm}[{pid}] {traps} ip:{hex12} sp:{hex12} error:{digit}
Out of memory: Killed process {pid} ({comm}) total-vm:{big}kB, anon-rss:{big}kB, file-rss:{int}kB, shmem-rss:{int}kB, UID:{int} pgtables:{int}kB oom_score_adj:{int}
{comm} invoked oom-killer: gfp_mask=0x{hex6}({gfpflags}), order={digit}, oom_score_adj={int}
perf: interrupt took too long ({int} > {int}), lowering kernel.perf_event_max_sample_rate to {int}
hrtimer: interrupt took {int} ns
workqueue: {workfunction} hogged CPU for >{int}us {small2} times, consider switching to WQ_UNBOUND
clocksource: timekeeping watchdog on CPU{small}: {clocksource} wd-wd read-back delay of {int}ns
thinkpad_acpi: battery {digit} registered (start {percent}, stop {percent}, behaviours: 0x{hex2})
ucsi_acpi USBC000:00: possible UCSI driver bug {digit}
pcieport {pci}: AER: {aerkind} error message received from {pci}
pcieport {pci}: PCIe Bus Error: severity={aerseverity}, type={aertype}, ({aeragent})
"""

DOCUMENTS = r"""
{"s":"I",  "c":"NETWORK",  "id":22943,   "ctx":"listener","msg":"Connection accepted","attr":{"remote":"{ipport}","uuid":{mguuid},"connectionId":{int},"connectionCount":{count}}}
{"s":"I",  "c":"COMMAND",  "id":51803,   "ctx":"{mgctx}","msg":"Slow query","attr":{"type":"{mgtype}","ns":"{mgns}"{mgapp},"command":{mgcommand},"planSummary":"{mgplan}"{mgcounters},"numYields":{small},"reslen":{int},"locks":{{mglocks}},"remote":"{ipport}","protocol":"op_msg","durationMillis":{int}}}
{"s":"I",  "c":"NETWORK",  "id":22944,   "ctx":"{mgctx}","msg":"Connection ended","attr":{"remote":"{ipport}","uuid":{mguuid},"connectionId":{int},"connectionCount":{count}}}
{"s":"I",  "c":"NETWORK",  "id":51800,   "ctx":"{mgctx}","msg":"client metadata","attr":{"remote":"{ipport}","client":"{mgctx}","doc":{mgclient}}}
{"s":"I",  "c":"ACCESS",   "id":20250,   "ctx":"{mgctx}","msg":"Authentication succeeded","attr":{"mechanism":"{mgmechanism}","speculative":{truefalse2},"principalName":"{mguser}","authenticationDatabase":"{mgdb}","remote":"{ipport}","extraInfo":{}}}
{"s":"I",  "c":"ACCESS",   "id":20249,   "ctx":"{mgctx}","msg":"Authentication failed","attr":{"mechanism":"{mgmechanism}","speculative":{truefalse2},"principalName":"{mguser}","authenticationDatabase":"{mgdb}","remote":"{ipport}","extraInfo":{},"error":"{mgautherror}"}}
{"s":"I",  "c":"ACCESS",   "id":20436,   "ctx":"{mgctx}","msg":"Checking authorization failed","attr":{"error":{mgunauthorized}}}
{"s":"I",  "c":"STORAGE",  "id":22430,   "ctx":"Checkpointer","msg":"WiredTiger message","attr":{"message":"[{big}:{six}][{pid}:0x7f{hex8}], WT_SESSION.checkpoint: [WT_VERB_CHECKPOINT_PROGRESS] saving checkpoint snapshot min: {int}, snapshot max: {int} snapshot count: {digit}, oldest timestamp: ({big}, {digit}) , meta checkpoint timestamp: ({big}, {digit})"}}
{"s":"E",  "c":"STORAGE",  "id":22435,   "ctx":"{mgthread}","msg":"WiredTiger error","attr":{"error":{mgwterror},"message":"{mgwtmessage}"}}
{"s":"I",  "c":"INDEX",    "id":20345,   "ctx":"{mgthread}","msg":"Index build: done building","attr":{"buildUUID":{mgbuild},"collectionUUID":{"uuid":{"$uuid":"{uuid}"}},"namespace":"{mgns}","index":"{mgindex}","ident":"index-{count}-{big}","commitTimestamp":{mgtimestamp}}}
{"s":"I",  "c":"INDEX",    "id":20384,   "ctx":"{mgthread}","msg":"Index build: starting","attr":{"namespace":"{mgns}","buildUUID":{mgbuild},"properties":{"v":2,"key":{{mgkeys}},"name":"{mgindex}"{mgindexoptions}},"method":"{mgmethod}","maxTemporaryMemoryUsageMB":{int}}}
{"s":"I",  "c":"INDEX",    "id":51773,   "ctx":"{mgthread}","msg":"progress meter","attr":{"name":"Index Build: {mgphase}","done":{int},"total":{int},"percent":{percent}}}
{"s":"I",  "c":"STORAGE",  "id":20320,   "ctx":"{mgctx}","msg":"createCollection","attr":{"namespace":"{mgns}","uuidDisposition":"{mgdisposition}","uuid":{"uuid":{"$uuid":"{uuid}"}},"options":{mgoptions}}}
{"s":"I",  "c":"COMMAND",  "id":518070,  "ctx":"{mgctx}","msg":"CMD: drop","attr":{"namespace":"{mgns}"}}
{"s":"I",  "c":"STORAGE",  "id":22206,   "ctx":"{mgctx}","msg":"Deferring table drop for index","attr":{"index":"{mgindex}","namespace":"{mgns}","uuid":{"uuid":{"$uuid":"{uuid}"}},"ident":"index-{count}-{big}","commitTimestamp":{mgtimestamp}}}
{"s":"I",  "c":"STORAGE",  "id":22237,   "ctx":"TimestampMonitor","msg":"Completing drop for ident","attr":{"ident":"{mgident}-{count}-{big}","dropTimestamp":{mgtimestamp}}}
{"s":"I",  "c":"REPL",     "id":21215,   "ctx":"ReplCoord-{small}","msg":"Member is in new state","attr":{"hostAndPort":"{mghost}","newState":"{mgstate}"}}
{"s":"I",  "c":"REPL",     "id":21358,   "ctx":"{mgthread}","msg":"Replica set state transition","attr":{"newState":"{mgstate}","oldState":"{mgstate}"}}
{"s":"I",  "c":"ELECTION", "id":4615652, "ctx":"ReplCoord-{small}","msg":"Starting an election, since we've seen no PRIMARY in election timeout period","attr":{"electionTimeoutPeriodMillis":10000}}
{"s":"I",  "c":"ELECTION", "id":21438,   "ctx":"ReplCoord-{small}","msg":"Conducting a dry run election to see if we could be elected","attr":{"currentTerm":{count}}}
{"s":"I",  "c":"ELECTION", "id":51799,   "ctx":"ReplCoord-{small}","msg":"VoteRequester processResponse","attr":{"term":{count},"dryRun":{truefalse2},"vote":"{mgvote}","from":"{mghost}","message":{"term":{count},"voteGranted":{truefalse2},"reason":"{mgvotereason}","ok":1}}}
{"s":"I",  "c":"ELECTION", "id":21450,   "ctx":"ReplCoord-{small}","msg":"Election succeeded, assuming primary role","attr":{"term":{count}}}
{"s":"I",  "c":"REPL",     "id":21799,   "ctx":"ReplCoordExtern-{small}","msg":"Sync source candidate chosen","attr":{"syncSource":"{mghost}"}}
{"s":"I",  "c":"REPL",     "id":21080,   "ctx":"BackgroundSync","msg":"Clearing sync source to choose a new one","attr":{"syncSource":"{mghost}"}}
{"s":"I",  "c":"REPL",     "id":21088,   "ctx":"BackgroundSync","msg":"Changed sync source","attr":{"oldSyncSource":"{mgsync}","newSyncSource":"{mgsync}"}}
{"s":"W",  "c":"REPL",     "id":21405,   "ctx":"BackgroundSync","msg":"Our newest OpTime is before the sync source's oldest OpTime","attr":{"ourNewest":{mgoptime},"syncSourceOldest":{mgoptime}{mgtoo}}}
{"s":"I",  "c":"REPL_HB",  "id":23974,   "ctx":"ReplCoord-{small}","msg":"Heartbeat failed after max retries","attr":{"target":"{mghost}","maxHeartbeatRetries":2,"error":{mgerror}}}
{"s":"I",  "c":"CONNPOOL", "id":22576,   "ctx":"{mgpool}","msg":"Connecting","attr":{"hostAndPort":"{mghost}"}}
{"s":"I",  "c":"CONNPOOL", "id":22572,   "ctx":"{mgpool}","msg":"Dropping all pooled connections","attr":{"hostAndPort":"{mghost}","error":{mgerror}}}
{"s":"I",  "c":"CONNPOOL", "id":22566,   "ctx":"{mgpool}","msg":"Ending connection due to bad connection status","attr":{"hostAndPort":"{mghost}","error":{mgerror},"numOpenConns":{small}}}
{"s":"I",  "c":"NETWORK",  "id":4712102, "ctx":"{mgpool}","msg":"Host failed in replica set","attr":{"replicaSet":"{mgset}","host":"{mghost}","error":{mgerror},"action":{"dropConnections":{truefalse2},"requestImmediateCheck":{truefalse2}{mgoutcome}}}}
{"s":"I",  "c":"NETWORK",  "id":4333213, "ctx":"ReplicaSetMonitor-TaskExecutor","msg":"RSM Topology Change","attr":{"replicaSet":"{mgset}","newTopologyDescription":"{ id: \"{uuid}\", topologyType: \"{mgtopology}\", servers: { {mgservers} }, compatible: {truefalse2}, setName: \"{mgset}\" }","previousTopologyDescription":"{ id: \"{uuid}\", topologyType: \"{mgtopology}\", servers: { {mgservers} }, compatible: {truefalse2} }"}}
{"s":"I",  "c":"NETWORK",  "id":22988,   "ctx":"{mgctx}","msg":"Error receiving request from client. Ending connection from remote","attr":{"error":{mgerror},"remote":"{ipport}","connectionId":{int}}}
{"s":"I",  "c":"NETWORK",  "id":22989,   "ctx":"{mgctx}","msg":"Error sending response to client. Ending connection from remote","attr":{"error":{mgerror},"remote":"{ipport}","connectionId":{int}}}
{"s":"I",  "c":"SHARDING", "id":22080,   "ctx":"MoveChunk","msg":"About to log metadata event","attr":{"namespace":"changelog","event":{"_id":"{mghost}-2026-11-{day}T{clock}.{three}+00:00-{hex16}","server":"{mghost}","what":"moveChunk.{mgchunk}","ns":"{mgns}","details":{mgdetails}}}}
{"s":"I",  "c":"SHARDING", "id":22016,   "ctx":"MoveChunk","msg":"Starting chunk migration donation","attr":{"requestParameters":{"namespace":"{mgns}","from":"{mgshard}","to":"{mgshard}","min":{mgbound},"max":{mgbound}},"collectionEpoch":{"$oid":"{mgoid}"}}}
{"s":"I",  "c":"SHARDING", "id":21856,   "ctx":"Balancer","msg":"Balancer move failed","attr":{"migration":{"ns":"{mgns}","uuid":"{uuid}","min":{mgbound},"fromShard":"{mgshard}","toShard":"{mgshard}"},"error":{mgerror}}}
{"s":"W",  "c":"SHARDING", "id":21900,   "ctx":"Balancer","msg":"No usable shards found for balancing","attr":{"zone":{mgzone},"drainingShards":[{mgshardlist}]}}
{"s":"I",  "c":"SHARDING", "id":20997,   "ctx":"{mgthread}","msg":"Refreshed RWC defaults","attr":{"newDefaults":{mgdefaults}}}
{"s":"I",  "c":"SHARDING", "id":24103,   "ctx":"ShardServerCatalogCacheLoader-{small}","msg":"Error refreshing cached collection","attr":{"namespace":"{mgns}","durationMillis":{int},"error":"{mgshorterror}"}}
{"s":"I",  "c":"CONTROL",  "id":20698,   "ctx":"-","msg":"***** SERVER RESTARTED *****"}
{"s":"I",  "c":"CONTROL",  "id":4615611, "ctx":"initandlisten","msg":"MongoDB starting","attr":{"pid":{pid},"port":{mgport},"dbPath":"{path}","architecture":"64-bit","host":"{host}"}}
{"s":"I",  "c":"CONTROL",  "id":21951,   "ctx":"initandlisten","msg":"Options set by command line","attr":{"options":{mgoptionset}}}
{"s":"W",  "c":"CONTROL",  "id":22178,   "ctx":"initandlisten","msg":"{mghugepages} is '{mghugevalue}'. We suggest setting it to 'never'","tags":["startupWarnings"]}
{"s":"W",  "c":"CONTROL",  "id":22120,   "ctx":"initandlisten","msg":"Access control is not enabled for the database. Read and write access to data and configuration is unrestricted","tags":["startupWarnings"]}
{"s":"I",  "c":"CONTROL",  "id":23377,   "ctx":"SignalHandler","msg":"Received signal","attr":{"signal":{small2},"error":"{mgsignal}"}}
{"s":"I",  "c":"CONTROL",  "id":23378,   "ctx":"SignalHandler","msg":"Signal was sent by kill(2)","attr":{"pid":{pid},"uid":{mguid}}}
{"s":"I",  "c":"REPL",     "id":4784900, "ctx":"SignalHandler","msg":"Stepping down the ReplicationCoordinator for shutdown","attr":{"waitTimeMillis":{int}}}
{"s":"I",  "c":"COMMAND",  "id":4784901, "ctx":"SignalHandler","msg":"Shutting down the MirrorMaestro"}
{"s":"I",  "c":"STORAGE",  "id":4795906, "ctx":"SignalHandler","msg":"WiredTiger closed","attr":{"durationMillis":{int}}}
{"s":"I",  "c":"CONTROL",  "id":23138,   "ctx":"SignalHandler","msg":"Shutting down","attr":{"exitCode":{mgexit}}}
{"s":"I",  "c":"STORAGE",  "id":20639,   "ctx":"{mgthread}","msg":"Marked chunk reserved space","attr":{"bytes":{big}}}
{"s":"I",  "c":"RECOVERY", "id":23987,   "ctx":"initandlisten","msg":"WiredTiger recoveryTimestamp","attr":{"recoveryTimestamp":{mgtimestamp}}}
{"s":"I",  "c":"REPL",     "id":21549,   "ctx":"initandlisten","msg":"Starting recovery oplog application at the stable timestamp","attr":{"stableTimestamp":{mgtimestamp}}}
{"s":"I",  "c":"FTDC",     "id":20631,   "ctx":"ftdc","msg":"Unclean full-time diagnostic data capture shutdown detected, found interim file, some metrics may have been lost","attr":{"error":{mgerror}}}
{"s":"W",  "c":"QUERY",    "id":23798,   "ctx":"{mgctx}","msg":"Plan executor error during {mgverb} command","attr":{"error":{mgerror},"stats":{mgstats},"cmd":{mgcommand}}}
{"s":"I",  "c":"WRITE",    "id":51804,   "ctx":"{mgctx}","msg":"Slow {mgwrite}","attr":{"ns":"{mgns}","filter":{mgfilter}{mgcounters},"durationMillis":{int}}}
{"s":"I",  "c":"TXN",      "id":51802,   "ctx":"{mgctx}","msg":"transaction","attr":{"parameters":{"lsid":{"id":{"$uuid":"{uuid}"}},"txnNumber":{small2},"autocommit":false},"readTimestamp":"{mgreadts}"{mgcounters},"terminationCause":"{mgtermination}","timeActiveMicros":{int},"timeInactiveMicros":{big},"durationMillis":{int}}}
{"s":"I",  "c":"-",        "id":4939300, "ctx":"monitoring-keys-for-HMAC","msg":"Failed to refresh key cache","attr":{"error":"{mgshorterror}","nextWakeupMillis":{int}}}
{"s":"I",  "c":"INDEX",    "id":22725,   "ctx":"TTLMonitor","msg":"Deleted expired documents using index","attr":{"namespace":"{mgns}","index":"{mgindex}","numDeleted":{int},"durationMillis":{int}}}
{"s":"E",  "c":"INDEX",    "id":5400703, "ctx":"TTLMonitor","msg":"Error running TTL job on collection","attr":{"namespace":"{mgns}","error":{mgerror}}}
"""

STORAGE = r"""
log_channel(cluster) log [DBG] : pgmap v{int}: {int} pgs: {pgstates}; {cephsize} data, {cephsize} used, {cephsize} / {cephsize} avail[[; {cephrate}]][[; {cephdegraded}]]
mon.{cephmon}@{digit}({monrole}).osd e{int} _set_new_cache_sizes cache_size:{big} inc_alloc: {big} full_alloc: {big} kv_alloc: {big}
mon.{cephmon}@{digit}({monrole}).osd e{int} do_prune osdmap full prune enabled
mon.{cephmon}@{digit}({monrole}) e{digit} handle_command mon_command({{cephcmd}} v 0) v1
mon.{cephmon}@{digit}({monrole}).paxos(paxos {monpaxos} c {int}..{int}) lease_expire from mon.{digit} {cephaddr} is {float} seconds in the past; mons are probably laggy (or possibly clocks are too skewed)
osd.{count} pg_epoch: {int} pg[{pgid}( {pginfo} {pgrole} {pgflags}] start_peering_interval up [{osdset}] -> [{osdset}], acting [{osdset}] -> [{osdset}], acting_primary {osdnumber} -> {osdnumber}, up_primary {osdnumber} -> {osdnumber}, role {cephrole} -> {cephrole}, features acting {big}{big} upacting {big}{big}
osd.{count} pg_epoch: {int} pg[{pgid}( {pginfo} {pgrole} {pgflags}] state<Start>: transitioning to {pgtransition}
log_channel(cluster) log [DBG] : {pgid} {scrubkind} starts
log_channel(cluster) log [DBG] : {pgid} {scrubkind} ok
log_channel(cluster) log [ERR] : {pgid} {scrubkind} {small} missing, {small} inconsistent objects
log_channel(cluster) log [ERR] : {pgid} {scrubkind} {small} errors
log_channel(cluster) log [ERR] : {pgid} shard {osdnumber} soid {pgobject} : {sciderror}
log_channel(cluster) log [WRN] : slow request {float} seconds old, received at 2026-11-{day}T{clock}.{six}+0000: osd_op(client.{int}.0:{int} {pgid} {pgobject} [{osdops}] snapc {snapc} {osdflags} e{int}) currently {slowstate}
log_channel(cluster) log [WRN] : Health check {healthword}: {healthtext} ({healthcode})
log_channel(cluster) log [INF] : Health check cleared: {healthcode} (was: {healthtext})
log_channel(cluster) log [INF] : Cluster is now healthy
log_channel(cluster) log [INF] : osd.{osdnumber} {cephaddr} boot
log_channel(cluster) log [DBG] : osdmap e{int}: {count} total, {count} up, {count} in
log_channel(cluster) log [DBG] : mgrmap e{int}: {cephmgr}(active, since {cephage})[[, standbys: {cephmgrs}]]
log_channel(cluster) log [DBG] : fsmap {fsmap}
log_channel(cluster) log [DBG] : osd.{osdnumber} reported failed by osd.{osdnumber}
log_channel(cluster) log [INF] : osd.{osdnumber} failed ({crush}) ({small} reporters from different {crushtype} after {float} >= grace {float})
log_channel(cluster) log [DBG] : osd.{osdnumber} failure report canceled by osd.{osdnumber}
log_channel(cluster) log [INF] : Marking osd.{osdnumber} out (has been down for {int} seconds)
log_channel(cluster) log [WRN] : Monitor daemon marked osd.{osdnumber} down, but it is still running
log_channel(cluster) log [INF] : mon.{cephmon} calling monitor election
log_channel(cluster) log [INF] : mon.{cephmon} is new leader, mons {cephmons} in quorum (ranks {osdset})
log_channel(audit) log [DBG] : from='{auditfrom}' entity='{cephentity}' cmd=[{cephcmd}]: dispatch
log_channel(audit) log [INF] : from='{auditfrom}' entity='{cephentity}' cmd='[{cephcmd}]': finished
osd.{osdnumber} {int} heartbeat_check: no reply from {ip}:{port} osd.{osdnumber} {heartside}since back {cephtime} front {cephtime} (oldest deadline {cephtime})
osd.{osdnumber} {int} tick checking mon for new map
osd.{osdnumber} {int} get_health_metrics reporting {count} slow ops, oldest is {slowop}
osd.{osdnumber} {int} set_numa_affinity not setting numa affinity
osd.{osdnumber} {int} set_numa_affinity unable to identify {numaif} interface '{numadev}' numa node: ({small2}) {errno}
osd.{osdnumber} {int} crush map has features {big}{big}, adjusting msgr requires for {cephpeer}[[ was {big}{big}]]
osd.{osdnumber} {int} state: booting -> active
osd.{osdnumber} {int} done with init, starting boot process
bluestore({path}) _open_super_meta {bluemeta} 0x{hex}
bluestore({path}) log_latency slow operation observed for {blueop}, latency = {float}s[[, b_bytes = {int} alloc_size = {int}]], txc = 0x5{hex12}
bluestore({path}) _verify_csum bad {csum} checksum at blob offset 0x{hex}, got 0x{hex8}, expected 0x{hex8}, device location [0x{hex12}~{int}], logical extent 0x{hex}~{int}, object #{pgobject}#
bdev(0x5{hex12} {path}) open size {big}{three} (0x{hex12}, {cephsize}) block_size {int} ({digit} KiB) {rotational} device, discard {discard}
bdev(0x5{hex12} {path}) aio_submit retries {count}
bluefs mount
bluefs umount
bluefs add_block_device bdev {digit} path {path} size {cephsize}[[ with {bluefsfree} free]]
bluefs _allocate unable to allocate 0x{hex} on bdev {digit}, allocator name {bluefsalloc}, capacity 0x{hex12}, free 0x{hex}
rocksdb: [db/db_impl/db_impl_compaction_flush.cc:{int}] [{cfname}] [JOB {int}] Compacted {small}@{small}[[ + {small}@{small}]] files to L{digit} => {big} bytes
rocksdb: [db/compaction/compaction_job.cc:{int}] [{cfname}] [JOB {int}] Generated table #{int}: {int} keys, {big} bytes[[, temperature: {coldhot}]]
rocksdb: EVENT_LOG_v1 {"time_micros": {big}{six}, "job": {int}, "event": "{rocksevent}", {rocksjson}}
rocksdb: [db/memtable_list.cc:{int}] [{cfname}] Level-0 commit table #{int}{rocksstate}
rocksdb: [db/db_impl/db_impl_write.cc:{int}] [{cfname}] New memtable created with log file: #{int}. Immutable memtables: {digit}.
rocksdb: Options.{rocksoption}: {rocksvalue}
--{cephdigit}- {cephmsgr} >> {cephmsgr} conn(0x5{hex12} 0x5{hex12} :{cephport} s={connstate} pgs={small} cs={digit} l={digit} rev1={digit} crypto rx={digit} tx={digit}).fault initiating reconnect
--{cephdigit}- {cephmsgr} >> {cephmsgr} conn(0x5{hex12} 0x5{hex12} :{cephport} s={connstate} pgs={small} cs={digit} l={digit} rev1={digit} crypto rx={digit} tx={digit})._handle_peer_banner peer {cephaddr} is using msgr V1 protocol
mds.{mdsname} Updating MDS map to version {int} from mon.{digit}
mds.{digit}.{int} handle_mds_map state change {mdsstate} --> {mdsstate}
mds.{digit}.{int} recovery set is {osdset}
mds.{digit}.cache creating system inode with ino:0x{hex}
mds.beacon.{mdsname} missed beacon ack from the monitors
mds.{digit}.server drop_msgs from client.{int} {cephaddr} during {mdsstate}
log_channel(cluster) log [WRN] : client.{int} isn't responding to mclientcaps(revoke), ino 0x{hex} pending {mdscaps} issued {mdscaps}, sent {float} seconds ago
[balancer INFO root] Optimize plan auto_2026-11-{day}_{clock}
[balancer INFO root] prepared {small}/{small} changes
[pg_autoscaler INFO root] Pool '{cephpool}' root_id -{small} using {float} of space, bias {small}.0, pg target {float} quantized to {int} (current {int})
[cephadm ERROR cephadm.serve] {cephadm}
mgr handle_mgr_map Activating!
mgr send_beacon active
mgr send_beacon standby
set uid:gid to {int}:{int} ({cephuser}:{cephuser})
ceph version {version} ({sha}) {cephrelease} (stable), process {cephprocess}, pid {pid}
auth: unable to find a keyring on {cephkeyrings}: ({small2}) {errno}
auth: could not find secret_id={int}
cephx server {cephentity}: unexpected key: req.key={hex16} expected_key={hex16}
received  signal: {cephsignal} from {cephsender} (PID: {pid}) UID: {int}
beast: 0x7f{hex8}: {ip} - {s3user} [{day}/Nov/2026:{clock}.{three} +0000] "{verb} {s3path} HTTP/1.1" {s3status} {int} {s3range} "{s3agent}" - latency={s3latency}
req {big}{big} {s3latency} s3:{s3op} op status={s3opstatus}
req {big}{big} {s3latency} s3:{s3op} {s3auth} authorization failed: {s3error}
"""

PAYMENTS = r"""
[{paytrace}] AUTH {paymerchant} {payamount} card={paypan} scheme={payscheme} -> {payresult}
[{paytrace}] route {payscheme}/{paycurrency} via acquirer '{payacquirer}'[[ (fallback for '{payacquirer}')]] in {int} us
iso8583 out mti={paymti} stan={six} de3={six} de4={paycents} de22={three} de41={payterminal}[[ de48="{paydata}"]]
iso8583 in mti={paymti} stan={six} de39={payde39} de38={payapproval}[[ de55={hexpairs}]] rtt={int}ms
[{paytrace}] 3DS {threeds} requested: eci={payeci} status={paytrans} acsTransID={paynulluuid}
[{paytrace}] challenge completed after {paydelay}
[{paytrace}] challenge abandoned after {paydelay}
[{paytrace}] challenge failed after {paydelay}: {text}
[{paytrace}] CAPTURE {payamount} of {payamount} accepted
[{paytrace}] CAPTURE {payamount} of {payamount} refused: {payrefusal}
[{paytrace}] REFUND {payamount} queued{payreference}
[{paytrace}] VOID accepted
[{paytrace}] duplicate of [{paytrace}] within {paydelay}, returning stored response
Idempotency key {payidem} reused by merchant {paymerchant} with a different body
Fraud score {percent} for {payidem}: rules [{payrules}] decision={paydecision}[[ reviewer={user}]]
Fraud model '{noun}-v{small2}' answered late ({int} ms), default decision {paydecision} applied
Velocity limit: {small2} {payattempts} by {payentity} in {paydelay} (limit {small2})
Velocity counter for {payentity} reset by {payactor}
Card {paypan} added to blocklist by {payactor}: {payfree}
Card {paypan} removed from blocklist by {payactor}
Token {paytoken} created for {paypan}
Token {paytoken} updated: expiry {payexpiry} -> {payexpiry}
Token {paytoken} deleted{payreason}
POST {payhook} HTTP {payhttp} attempt={digit} next={paynext} body={paybody}
Webhook endpoint {payhook} disabled after {count} consecutive failures
Webhook signature mismatch from {ip}: header "{paysig}"
Acquirer '{payacquirer}' circuit breaker CLOSED -> OPEN, failure rate {float}% over {int} calls
Acquirer '{payacquirer}' circuit breaker OPEN -> HALF_OPEN
Acquirer '{payacquirer}' circuit breaker HALF_OPEN -> CLOSED
Acquirer '{payacquirer}' sign-on ok
Acquirer '{payacquirer}' sign-off requested by {payactor}
Acquirer '{payacquirer}' echo test failed: {payfree}
Acquirer '{payacquirer}' connection {digit}/{digit} to {hostport} lost ({payfree}), reconnecting in {paydelay}
Reversal {paymti} for stan {six} stored and forwarded, {payqueue}
Reversal for stan {six} given up after {paydelay}
Late response for stan {six} ignored ({int} ms after timeout)
No route for scheme={payscheme} country={paycountry} currency={paycurrency} amount={payamount}
BIN {six} resolved to {paybin}
BIN table version {int} loaded: {int} ranges, {paydelta}
HSM {payhsm}: command {payhsmcmd} answered {payhsmcode} in {int} ms
HSM {payhsm}: {digit} of {digit} sessions in use
HSM {payhsm}: tamper alarm, slot {digit} unavailable
Key {paykey} rotated, kcv {paykcv} -> {paykcv}
Key {paykey} expires in {paydelay}
Settlement batch {paybatch} opened for {payacquirer} {paycurrency}
Settlement batch {paybatch} closed: {int} {paytx}, total {payamount}
Settlement batch {paybatch} differs from acquirer report: ours {payamount} ({int}), theirs {payamount} ({int})
Settlement file {payfile} uploaded to {paysftp} ({size})
Settlement file {payfile} rejected by {payacquirer}: line {int}: {payfree}
Payout {payout} to {payiban} of {payamount} {paystate}
Payout {payout} held: {payhold}
Chargeback {paycase} received for [{paytrace}] reason={paycbreason} amount={payamount} due={paydue}
Chargeback {paycase} {paycbaction} by {payactor}[[, {small2} documents attached]]
FX rate {paycurrency}/{paycurrency} = {payrate} from {payfx}[[ (stale since {clock})]]
Merchant {paymerchant} config changed by {payactor}: {paychange}
Merchant {paymerchant} onboarded, mcc={four} country={paycountry} risk={payrisk}
Merchant {paymerchant} suspended: {payfree}
Terminal {payterminal} downloaded parameters in {ms}
Terminal {payterminal} offline for {paydelay}
Terminal {payterminal} firmware {version} -> {version} {payupdate}
Terminal {payterminal} sent {small2} offline {paytx}, oldest {paydelay}
Reconciliation of {payday}: matched={int} missing={small} extra={small} amount_diff={paydiff}
Ledger posting {big}: {payaccount} -> {payaccount} {payamount} memo="{paymemo}"
Ledger out of balance by {payamount} in account {payaccount}
Job {payjob} took {paydelay}, {payjobresult}
Pool {payjob}-pool: active={small2} idle={small2} waiting={small2}
Request rejected: {payvalidation} (merchant={paymerchant}, ip={ip})
Slow statement ({int} ms): {paysql}
Feature flag {payflag} is now {onoff3}[[ for merchants {paymerchants}]]
Graceful shutdown: waiting for {payinflight}
Started in {float} seconds, region={payregion}, build={hex7}[[-dirty]]
"""

BAGGAGE = r"""
SCN {bagscanner} IATA={baglpc} read={bagread} conf={percent}% ind={bagind} pos={bagpos}mm
TRK {bagind} {bagzone} -> {bagzone} dt={bagdt}
SORT {bagind} IATA={baglpc} flight={bagflight} dest={bagdest}[[ alt={bagdest}]] reason={bagreason}
PLC {bagplc} DB{int}.DBX{small}.{digit} = {bagbool}
PLC {bagplc} cycle time {bagcycle}, limit 20 ms exceeded
PLC {bagplc} heartbeat lost for {bagdt}
PLC {bagplc} heartbeat restored
PLC {bagplc} changed to {plcmode}
PLC {bagplc} diagnostic buffer: event 16#{plcevent} {plctext}
PLC {bagplc}: clock difference {bagms} ms corrected
Conveyor {bagconv} started
Conveyor {bagconv} started in cascade after {bagconv}
Conveyor {bagconv} stopped
Conveyor {bagconv} stopped: {bagstop}
Conveyor {bagconv} energy saving after {bagdt} without load
Conveyor {bagconv} speed {bagspeed} m/s, set point {bagspeed} m/s
Drive {bagdrive} fault F{bagfault} ({bagfaulttext})[[, {count} times today]]
Drive {bagdrive} fault reset by {bagoperator}
Drive {bagdrive}: I={bagspeed} A, T={count} °C, f={bagspeed} Hz, status word {plcword}
Photocell {bagcell} blocked for {bagdt}
Photocell {bagcell} free
Photocell {bagcell} dirty, signal reserve {percent} %
ALM {int} [{bagprio}] {bagarea}: {bagalarm}
ALM {int} acknowledged by {bagoperator}[[ at {bagstation}]]
ALM {int} gone
BSM {bagbsm} accepted for {bagflight}/{bagday}: tag {baglpc}, {bagpax}, class {bagclass}[[, onward {bagonward}]]
BSM {bagbsm} deleted (tag {baglpc})
BSM rejected, element .{bagelement} invalid: "{bagraw}"
BPM sent for {baglpc}: {bagloc} {bagauth}
Message queue {bagqueue}: {bagqueuestate}
Flight {bagflight}/{bagday} opened at {bagdests}, STD {clock2}
Flight {bagflight}/{bagday} closed, {int} bags loaded, {small2} missing
Flight {bagflight}/{bagday} gate changed {baggate} -> {baggate}
Flight {bagflight}/{bagday} cancelled
Flight {bagflight}/{bagday} delayed to {clock2}: {bagdelay}
Flight plan update from {bagsource}: {small2} new, {small2} changed, {small2} cancelled
EDS {bageds} level {digit} {bagind}: {bagverdict} in {bagdt}
EDS {bageds} calibration {bagcal}
EDS {bageds} image {bagimage} sent to operator {bagoperator}
EDS {bageds} time-out, {bagind} treated as {bagverdict}
OSR operator {bagoperator} logged {bagloggedon} {bagstation}
Early bag store: {bagind} into lane {baglane} slot {small2} until {clock2}
Early bag store: {bagind} retrieved from lane {baglane} slot {small2}
Early bag store: occupancy {percent} % ({int} of {int})
Tray {bagtray} empty at {bagzone}
Tray {bagtray} to maintenance after {int} cycles
Tray {bagtray} lost between {bagzone} and {bagzone}
Unknown bag {bagind} inserted at {bagzone}[[, next expected {bagind}]]
Bag {bagind} lost at {bagzone} (expected {bagpos} mm, window {bagpos} mm)
Manual coding: {bagoperator} entered {bagentry} for {bagind}
Manual coding station {bagstation} has {bagwaiting}
Recirculation of {bagind}: round {digit} of {digit}
Tilt tray sorter {digit}: {bagsorter}
Diverter {bagconv}/{digit} {bagdiverter} missed {bagind}
OPC UA subscription {int} on {bagendpoint}: status {opcstatus}, {small2} monitored items
OPC UA write ns={digit};s={opctag} := {opcvalue} ({opctype}) {opcresult}
Modbus {bagmeter} unit {small2}: {modbus}
SCADA client {bagstation} connected as {bagoperator} (role {bagrole})
SCADA client {bagstation} disconnected
Setpoint {opctag} changed from {opcvalue} to {opcvalue} by {bagoperator}[[, comment: {bagcomment}]]
Mode of area {bagarea}: {bagmode}
Emergency stop {bagestop} pressed
Emergency stop {bagestop} released
Fire door {bagdoor} closing, conveyors {bagconvs} halted
Fire door {bagdoor} open
Redundancy: server {bagserver} {bagredundancy}
Report {bagreport} for {bagday} {bagreportstate}
DB {bagserver}: archived {int} rows in {bagdt}, oldest {bagday}
Weight {bagind}: {bagkg} kg
Weight {bagind}: {bagkg} kg exceeds {bagkg} kg, sent to {bagdest}
Shift {bagshift} totals: in={int} out={int} noread={small2} lost={small} avg={bagdt}
"""

TABLES = r"""
{myid} [Note] [MY-010914] [Server] Aborted connection {myid} to db: '{mydb}' user: '{myuser}' host: '{myhost}' (Got {mynet}).
{myid} [Note] [MY-010926] [Server] Access denied for user '{myuser}'@'{myhost}' (using password: {mypass})
{myid} [Warning] [MY-010055] [Server] IP address '{ip}' could not be resolved: {mydns}
0 [Note] [MY-012487] [InnoDB] DDL log recovery : begin
# Query_time: {mysecs}  Lock_time: 0.000{three}  Rows_sent: {int}  Rows_examined: {big}  Thread_id: {myid}  Errno: {mysqlcode}
{myid} [Warning] [MY-013360] [Server] Plugin mysql_native_password reported: ''mysql_native_password' is deprecated and will be removed in a future release. Please use caching_sha2_password instead'
{myid} [Note] [MY-010462] [Repl] Start binlog_dump to source_thread_id({myid}) replica_server({small2}), pos({mybinlog}, {big})
{myid} [Warning] [MY-010584] [Repl] Replica SQL for channel '{mychannel}': Worker {digit} failed executing transaction '{mygtid}' at source log {mybinlog}, end_log_pos {big}; {myerror}, Error_code: MY-00{four}
{myid} [ERROR] [MY-010557] [Repl] Replica I/O for channel '{mychannel}': error reconnecting to source 'repl@{myserver}:3306' - retry-time: 60 retries: {count} message: {myconnect}, Error_code: MY-00{four}
{myid} [System] [MY-010562] [Repl] Replica I/O thread for channel '{mychannel}': connected to source 'repl@{myserver}:3306', replication started in log '{mybinlog}' at position {big}
{myid} [Note] [MY-010587] [Repl] Replica SQL thread for channel '{mychannel}' exiting, replication stopped in log '{mybinlog}' at position {big}
{myid} [Note] [MY-011025] [Repl] Failed reading from source event: Lost connection to MySQL server during query[[ (server_errno={four})]]
0 [Warning] [MY-011963] [InnoDB] Page cleaner took {int}ms to flush {int} and evict {small} pages
{myid} [Note] [MY-012468] [InnoDB] Transactions deadlock detected, dumping detailed information.
{myid} [Note] [MY-012469] [InnoDB] *** (1) WAITING FOR THIS LOCK TO BE GRANTED: RECORD LOCKS space id {int} page no {int} n bits {int} index {myindex} of table `{mydb}`.`{mytable}` trx id {big} lock_mode {mylock} waiting
{myid} [Note] [MY-012469] [InnoDB] *** WE ROLL BACK TRANSACTION ({mytrx})
0 [Warning] [MY-012985] [InnoDB] A long semaphore wait: Thread {big} has waited at {mysource} line {int} for {int} seconds the semaphore: {mylatch} at 0x7f{hex8} created in file {mysource} line {int}
0 [Note] [MY-012551] [InnoDB] Starting crash recovery from checkpoint LSN={big}.
0 [Note] [MY-012532] [InnoDB] Applying a batch of {int} redo log records ...
0 [Note] [MY-012533] [InnoDB] {percent}%
0 [Note] [MY-012535] [InnoDB] Apply batch completed!
0 [Note] [MY-011946] [InnoDB] Loading buffer pool(s) from {mydir}/ib_buffer_pool
0 [Note] [MY-011944] [InnoDB] Buffer pool(s) load completed at 2611{day} {clock}
0 [Note] [MY-011942] [InnoDB] Dumping buffer pool(s) to {mydir}/ib_buffer_pool
0 [Note] [MY-013072] [InnoDB] Using 'tablespaces' max: 65535 from '{mydir}/#ib_16384_{digit}.dblwr'
0 [Note] [MY-012955] [InnoDB] Initializing buffer pool, total size = {mymem}, instances = {digit}, chunk size =128.000000M
0 [Note] [MY-013776] [InnoDB] Parallel initialization of rseg complete
0 [Note] [MY-012976] [InnoDB] {version} started; log sequence number {big}
0 [ERROR] [MY-012592] [InnoDB] Operating system error number {myoserr} in a file operation.
0 [ERROR] [MY-012596] [InnoDB] Error number {small2} means '{errno}'
0 [ERROR] [MY-012574] [InnoDB] Unable to lock ./ibdata1 error: {small2}
{myid} [ERROR] [MY-013132] [Server] The table '{mytable}' is full!
{myid} [ERROR] [MY-012144] [InnoDB] posix_fallocate(): Failed to preallocate data for file ./{mydb}/{mytable}.ibd, desired size {int} bytes. Operating system error number {myoserr}. Check that the disk is not full or a disk quota exceeded.
{myid} [ERROR] [MY-011906] [InnoDB] Database page corruption on disk or a failed file read of page [page id: space={int}, page number={int}]. You may have to recover from a backup.
{myid} [Warning] [MY-012111] [InnoDB] Trying to access missing tablespace {int}
{myid} [Warning] [MY-010235] [Server] Following users were specified in CREATE USER IF NOT EXISTS but they already exist. Corresponding entry in binary log used default authentication plugin '{myplugin}' to rewrite authentication information (if any) for them: '{myuser}'@'%'
{myid} [Warning] [MY-011069] [Server] The syntax '{mysyntax}' is deprecated and will be removed in a future release[[. Please use {mysyntax} instead]].
0 [System] [MY-010116] [Server] {mydir2}/mysqld (mysqld {version}) starting as process {pid}
0 [System] [MY-010931] [Server] {mydir2}/mysqld: ready for connections. Version: '{version}{mydistro}'  socket: '{mysocket}'  port: 3306  {mycomment}.
0 [System] [MY-013172] [Server] Received {mystop}. Shutting down mysqld (Version: {version}{mydistro}).
0 [System] [MY-010910] [Server] {mydir2}/mysqld: Shutdown complete (mysqld {version}{mydistro})  {mycomment}.
0 [Warning] [MY-010068] [Server] CA certificate {mypem} is self signed.
0 [Note] [MY-010252] [Server] Server hostname (bind-address): '{mybind}'; port: 3306
0 [Note] [MY-010264] [Server]   - '{mybind}' resolves to '{mybind}';
0 [Warning] [MY-010140] [Server] Could not increase number of max_open_files to more than {int} (request: {int})
0 [Warning] [MY-010142] [Server] Changed limits: table_open_cache: {int} (requested {int})
0 [Warning] [MY-010909] [Server] {mydir2}/mysqld: Forcing close of thread {myid}  user: '{myuser}'.
0 [Note] [MY-010304] [Server] Skipping generation of SSL certificates as certificate files are present in data directory.
{myid} [Note] [MY-010051] [Server] Event Scheduler: scheduler thread started with id {myid}
{myid} [Note] [MY-010046] [Server] Event Scheduler: [{myuser}@{myserver}][{mydb}.{myevent}] event execution {myevres}
{myid} [ERROR] [MY-010045] [Server] Event Scheduler: [{myuser}@{myserver}][{mydb}.{myevent}] {myerror}
0 [Warning] [MY-010956] [Server] Invalid replication timestamps: original commit timestamp is more recent than the immediate commit timestamp. This may be an issue if delayed replication is active. Make sure that servers have their clocks set to the correct time. No further message will be emitted until after timestamps become valid again.
0 [Warning] [MY-011493] [Repl] Plugin group_replication reported: 'Member with address {myserver}:3306 has become unreachable.'
0 [Warning] [MY-011494] [Repl] Plugin group_replication reported: 'Member with address {myserver}:3306 is reachable again.'
0 [System] [MY-011503] [Repl] Plugin group_replication reported: 'Group membership changed to {mymembers} on view {big}:{small2}.'
0 [System] [MY-011507] [Repl] Plugin group_replication reported: 'A new primary with address {myserver}:3306 was elected.[[ The new primary will execute all previous group transactions before allowing writes.]]'
0 [Warning] [MY-011499] [Repl] Plugin group_replication reported: 'Members removed from the group: {mymembers}'
0 [System] [MY-011490] [Repl] Plugin group_replication reported: 'This server was declared online within the replication group.'
0 [System] [MY-011565] [Repl] Plugin group_replication reported: 'Setting super_read_only={onoff5}.'
{myid} [Note] [MY-013730] [Server] 'wait_timeout' period of {int} seconds was exceeded for `{myuser}`@`{myhost2}`. The idle time since last command was too long.
"""

AUDIT = r"""
type=PATH msg=audit({auid}): item={digit} name={auname} inode={int} dev={audev} mode={aumode} ouid={auuid2} ogid={auuid2} rdev=00:00[[ obj={auobj}]] nametype={aunametype} cap_fp=0 cap_fi=0 cap_fe=0 cap_fver=0[[ cap_frootid=0]]
type=CWD msg=audit({auid}): cwd="{aucwd}"
type=SYSCALL msg=audit({auid}): arch=c000003e syscall={ausys} success={auyes} exit={auexit} a0={auarg} a1={auarg} a2={auarg} a3={auarg} items={digit} ppid={pid} pid={pid} auid={auuid} uid={auuid2} gid={auuid2} euid={auuid2} suid={auuid2} fsuid={auuid2} egid={auuid2} sgid={auuid2} fsgid={auuid2} tty={autty} ses={auses} comm="{aucomm}" exe="{auexe}"[[ subj={ausubj}]] key={aukey}
type=PROCTITLE msg=audit({auid}): proctitle={autitle}
type=EXECVE msg=audit({auid}): argc={digit} {auargs}
type=USER_START msg=audit({auid}): pid={pid} uid={auuid2} auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=PAM:session_open grantors={aupam} acct="{auacct}" exe="{auauth}" hostname={auhost} addr={auaddr} terminal={auterm} res={aures}'
type=USER_END msg=audit({auid}): pid={pid} uid={auuid2} auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=PAM:session_close grantors={aupam} acct="{auacct}" exe="{auauth}" hostname={auhost} addr={auaddr} terminal={auterm} res={aures}'
type=USER_ACCT msg=audit({auid}): pid={pid} uid={auuid2} auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=PAM:accounting grantors={aupam} acct="{auacct}" exe="{auauth}" hostname={auhost} addr={auaddr} terminal={auterm} res={aures}'
type=CRED_ACQ msg=audit({auid}): pid={pid} uid={auuid2} auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=PAM:setcred grantors={aupam} acct="{auacct}" exe="{auauth}" hostname={auhost} addr={auaddr} terminal={auterm} res={aures}'
type=CRED_DISP msg=audit({auid}): pid={pid} uid={auuid2} auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=PAM:setcred grantors={aupam} acct="{auacct}" exe="{auauth}" hostname={auhost} addr={auaddr} terminal={auterm} res={aures}'
type=LOGIN msg=audit({auid}): pid={pid} uid=0[[ subj={ausubj}]] old-auid=4294967295 auid={auuid} tty=(none) old-ses=4294967295 ses={int} res=1
type=SERVICE_START msg=audit({auid}): pid=1 uid=0 auid=4294967295 ses=4294967295[[ subj=system_u:system_r:init_t:s0]] msg='unit={auunit} comm="systemd" exe="/usr/lib/systemd/systemd" hostname=? addr=? terminal=? res={aures}'
type=SERVICE_STOP msg=audit({auid}): pid=1 uid=0 auid=4294967295 ses=4294967295[[ subj=system_u:system_r:init_t:s0]] msg='unit={auunit} comm="systemd" exe="/usr/lib/systemd/systemd" hostname=? addr=? terminal=? res={aures}'
type=USER_CMD msg=audit({auid}): pid={pid} uid={auuid} auid={auuid} ses={auses}[[ subj={ausubj}]] msg='cwd="{aucwd}" cmd={aucmd} exe="/usr/bin/sudo" terminal={auterm} res={aures}'
type=USER_LOGIN msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=login {aulogin} exe="/usr/sbin/sshd" hostname={auhost} addr={auaddr} terminal={auterm} res={aures}'
type=USER_AUTH msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op={auauthop} grantors={aupam} acct="{auacct}" exe="{auauth}" hostname={auhost} addr={auaddr} terminal={auterm} res={aures}'
type=CRYPTO_KEY_USER msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=destroy kind=server fp=SHA256:{hex2}:{hex2}:{hex2}:{hex2}:{hex2}:{hex2}:{hex2}:{hex2} direction=? spid={pid} suid={auuid2}  exe="/usr/sbin/sshd" hostname=? addr=? terminal=? res=success'
type=CRYPTO_SESSION msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=start direction={audir} cipher={aucipher} ksize={auksize} mac={aumac} pfs={aupfs} spid={pid} suid=74 rport={port} laddr={auserver} lport=22  exe="/usr/sbin/sshd" hostname=? addr={ip} terminal=? res=success'
type=USER_LOGOUT msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=login id={auuid} exe="/usr/sbin/sshd" hostname=? addr=? terminal={auterm} res=success'
type=SOCKADDR msg=audit({auid}): saddr={ausaddr}
type=AVC msg=audit({auid}): avc:  denied  { {auperm} } for  pid={pid} comm="{aucomm}" {auavc} scontext={auscon} tcontext={autcon} tclass={auclass} permissive={onezero}
type=CONFIG_CHANGE msg=audit({auid}): auid={auuid} ses={auses}[[ subj={ausubj}]] op=add_rule key={aukey} list={digit} res={onezero}
type=CONFIG_CHANGE msg=audit({auid}): op=set audit_backlog_limit={int} old={int} auid={auuid} ses={auses}[[ subj={ausubj}]] res={onezero}
type=DAEMON_START msg=audit({auid}): op=start ver={version} format=enriched kernel={version}-{int}.el9.x86_64 auid={auuid} pid={pid} uid=0 ses={auses}[[ subj=system_u:system_r:auditd_t:s0]] res=success
type=DAEMON_END msg=audit({auid}): op=terminate auid={auuid} uid=0 ses={auses} pid={pid}[[ subj={ausubj}]] res=success
type=DAEMON_ROTATE msg=audit({auid}): op=rotate-logs auid={auuid} uid=0 ses={auses} pid={pid}[[ subj={ausubj}]] res=success
type=NETFILTER_CFG msg=audit({auid}): table={autable} family={aufamily} entries={int} op={aunft} pid={pid}[[ subj={ausubj}]] comm="{aunftcomm}"
type=ANOM_ABEND msg=audit({auid}): auid={auuid} uid={auuid2} gid={auuid2} ses={auses}[[ subj={ausubj}]] pid={pid} comm="{aucomm}" exe="{auexe}" sig={ausig} res=1
type=ANOM_PROMISCUOUS msg=audit({auid}): dev={audevice} prom={int} old_prom={int} auid={auuid} uid=0 gid=0 ses={auses}
type=SECCOMP msg=audit({auid}): auid={auuid} uid={auuid2} gid={auuid2} ses={auses}[[ subj={ausubj}]] pid={pid} comm="{aucomm}" exe="{auexe}" sig=0 arch=c000003e syscall={int} compat=0 ip=0x7f{hex8} code=0x7ffc0000
type=BPF msg=audit({auid}): prog-id={int} op={aubpf}
type=ADD_USER msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=adding user id={int} exe="/usr/sbin/useradd" hostname={auhost} addr=? terminal={auterm} res={aures}'
type=DEL_USER msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=deleting user entries id={int} exe="/usr/sbin/userdel" hostname={auhost} addr=? terminal={auterm} res={aures}'
type=ADD_GROUP msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=add-group id={int} exe="/usr/sbin/groupadd" hostname={auhost} addr=? terminal={auterm} res={aures}'
type=USER_CHAUTHTOK msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op=PAM:chauthtok grantors={aupam} acct="{auacct}" exe="/usr/bin/passwd" hostname={auhost} addr=? terminal={auterm} res={aures}'
type=USER_ROLE_CHANGE msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses} subj={ausubj} msg='pam: default-context={auscon} selected-context={auscon} exe="{auauth}" hostname={auhost} addr={auaddr} terminal={auterm} res={aures}'
type=MAC_STATUS msg=audit({auid}): enforcing={onezero} old_enforcing={onezero} auid={auuid} ses={auses} enabled=1 old-enabled=1 lsm=selinux res=1
type=MAC_POLICY_LOAD msg=audit({auid}): auid={auuid} ses={auses} lsm=selinux res=1
type=SOFTWARE_UPDATE msg=audit({auid}): pid={pid} uid=0 auid={auuid} ses={auses}[[ subj={ausubj}]] msg='op={ausw} sw="{aurpm}" sw_type=rpm key_enforce={onezero} gpg_res={onezero} root_dir="/" comm="dnf" exe="/usr/bin/python3.9" hostname={auhost} addr=? terminal={auterm} res={aures}'
type=SYSTEM_BOOT msg=audit({auid}): pid={pid} uid=0 auid=4294967295 ses=4294967295[[ subj=system_u:system_r:init_t:s0]] msg=' comm="systemd-update-utmp" exe="/usr/lib/systemd/systemd-update-utmp" hostname=? addr=? terminal=? res=success'
type=TIME_ADJNTPVAL msg=audit({auid}): op={auntp} old={int} new={int}
type=KERN_MODULE msg=audit({auid}): name="{aumod}"
type=OBJ_PID msg=audit({auid}): opid={pid} oauid={auuid} ouid={auuid2} oses={auses}[[ obj={ausubj}]] ocomm="{aucomm}"
type=FD_PAIR msg=audit({auid}): fd0={small} fd1={small}
type=MMAP msg=audit({auid}): fd={small} flags=0x{hex2}
type=EOE msg=audit({auid}):
"""

SHOP = r"""
[{rbrid}] Started {rbverb} "{rbpath}" for {ip} at {rbtime}
[{rbrid}] Processing by {rbaction} as {rbformat}
[{rbrid}] Completed {rbstatus} in {int}ms ([[Views: {rbms}ms | ]]ActiveRecord: {rbms}ms | Allocations: {rballoc})
[{rbrid}]   Parameters: {{rbparams}}
[{rbrid}]   Rendered {rbpartial} (Duration: {rbms}ms | Allocations: {int})
[{rbrid}]   Rendered {rbview} within {rblayout} (Duration: {rbms}ms | Allocations: {rballoc})
[{rbrid}]   Rendering {rbview} within {rblayout}
[{rbrid}]   Rendered layout {rblayout} (Duration: {rbms}ms | Allocations: {rballoc})
[{rbrid}]   Rendered collection of {rbpartial} [{small2} times] (Duration: {rbms}ms | Allocations: {rballoc})
[{rbrid}] Redirected to {rburl}
[{rbrid}] [ActiveJob] Enqueued {rbjob} (Job ID: {rbrid}) to Sidekiq({rbqueue})[[ at {rbutc}]][[ with arguments: {rbargs}]]
[ActiveJob] [{rbjob}] [{rbrid}] Performing {rbjob} (Job ID: {rbrid}) from Sidekiq({rbqueue}) enqueued at {rbiso}[[ with arguments: {rbargs}]]
[ActiveJob] [{rbjob}] [{rbrid}] Performed {rbjob} (Job ID: {rbrid}) from Sidekiq({rbqueue}) in {rbms}ms
pid={pid} tid={rbtid} class={rbjob2} jid={rbjid} INFO: start
pid={pid} tid={rbtid} class={rbjob2} jid={rbjid} elapsed={rbsec} INFO: done
pid={pid} tid={rbtid} class={rbjob2} jid={rbjid} elapsed={rbsec} INFO: fail
[{rbrid}] Read fragment views/{rbview2}/{rbcachekey} ({rbms}ms)
[{rbrid}] Write fragment views/{rbview2}/{rbcachekey} ({rbms}ms)
[{rbrid}] Filter chain halted as :{rbfilter} rendered or redirected
[{rbrid}] Unpermitted parameter{rbunpermitted}. Context: { controller: {rbcontroller}, action: {rbmethod}, request: #<ActionDispatch::Request:0x0000{hex12}>, params: {{rbparams}} }
[{rbrid}] Can't verify CSRF token authenticity.
[{rbrid}] ActionController::RoutingError (No route matches [{rbverb}] "{rbscan}"):
[{rbrid}] ActiveRecord::RecordNotFound (Couldn't find {rbmodel} with 'id'={int}[[ [WHERE "{rbtable}"."store_id" = $1]]]):
[{rbrid}] ActionView::Template::Error (undefined method `{rbmethod2}' for nil:NilClass):
[{rbrid}] app/{rbfile}:{int}:in `{rbmethod2}'
[{rbrid}] {rbmailer}: processed outbound mail in {rbms}ms
[{rbrid}] Delivered mail {hex12}_{hex4}@{rbhost}.mail ({rbms}ms)
[{rbrid}]   S3 Storage ({rbms}ms) Uploaded file to key: {rbkey} (checksum: {rbsum})
[{rbrid}]   S3 Storage ({rbms}ms) Generated URL for file at key: {rbkey} ({rburl3})
[{rbrid}]   S3 Storage ({rbms}ms) Deleted file from key: {rbkey}
[{rbrid}] Sent data {rbexport} ({rbms}ms)
[{rbrid}] Cannot render console from {ip}! Allowed networks: 127.0.0.0/127.255.255.255, ::1
[{rbrid}] Started GET "/cable" for {ip} at {rbtime}
[{rbrid}] Successfully upgraded to WebSocket (REQUEST_METHOD: GET, HTTP_CONNECTION: {rbupgrade}, HTTP_UPGRADE: websocket)
{rbchannel} is transmitting the subscription confirmation
{rbchannel} is streaming from {rbstream}
{rbchannel} stopped streaming from {rbstream}
[ActionCable] Broadcasting to {rbstream}: {{rbparams}}
Finished "/cable"[[ [WebSocket]]] for {ip} at {rbtime}
[Rack::Attack] {rbattack} {ip} {rbverb} {rbpath}
[ActiveJob] [{rbjob}] [{rbrid}] Error performing {rbjob} (Job ID: {rbrid}) from Sidekiq({rbqueue}) in {rbms}ms: {rberror}:
[ActiveJob] [{rbjob}] [{rbrid}] Retrying {rbjob} (Job ID: {rbrid}) after {digit} attempts in {small2} seconds, due to a {rberror}.
[ActiveJob] [{rbjob}] [{rbrid}] Discarded {rbjob} (Job ID: {rbrid}) due to a {rberror}.
DEPRECATION WARNING: {rbdeprecated} (called from {rbmethod2} at /srv/shop/releases/202611{day}{six}/app/{rbfile}:{int})
[{pid}] - Worker {digit} (PID: {pid}) booted in {rbsec}s, phase: {small}
[{pid}] ! Terminating timed out worker (Worker {digit} failed to check in within 60 seconds): {pid}
[{pid}] Puma starting in cluster mode...
[{pid}] * Puma version: {version} (ruby {version}-p{small2}) ("{rbcode}")
[{pid}] - Gracefully shutting down workers...
Scoped order is ignored, it's forced to be batch order.
Migrating to {rbmigration} (2026{four}{six})
[paperclip] Saving attachments.
Creating scope :{rbscope}. Overwriting existing method {rbmodel}.{rbscope}.
[Searchkick] {rbmodel} Search ({rbms}ms)  {rbindex}/_search {"query":{"bool":{"must":{"match":{"name":"{rbterm}"}}}},"size":{rbper},"from":{rbfrom}}
[Stripe] Request completed http_status={rbhttp} request_id=req_{hex12}[[ idempotency_key={rbrid}]]
Sidekiq {version} connecting to Redis with options {:size=>{small2}, :pool_name=>"internal", :url=>"redis://{rbredis}:6379/{digit}"}
"""

CONTAINERS = r"""
time="{cdtime}" level=info msg="ignoring event" container={cdsha} module=libcontainerd namespace=moby topic=/tasks/delete type="*events.TaskDelete"
time="{cdtime}" level=info msg="shim disconnected" id={cdsha}[[ namespace={cdns}]]
time="{cdtime}" level=warning msg="cleaning up after shim disconnected" id={cdsha} namespace={cdns}
time="{cdtime}" level=info msg="cleaning up dead shim"[[ namespace={cdns}]]
time="{cdtime}" level=info msg="loading plugin \"io.containerd.{cdplugin}\"..." runtime=io.containerd.runc.v2 type=io.containerd.{cdtype}
time="{cdtime}" level=info msg="starting signal loop" namespace={cdns} path=/run/containerd/io.containerd.runtime.v2.task/{cdns}/{cdsha} pid={pid} runtime=io.containerd.runc.v2
time="{cdtime}" level=info msg="CreateContainer within sandbox \"{cdsha}\" for container &ContainerMetadata{Name:{cdname},Attempt:{digit},}"
time="{cdtime}" level=info msg="StartContainer for \"{cdsha}\""
time="{cdtime}" level=info msg="StartContainer for \"{cdsha}\" returns successfully"
time="{cdtime}" level=info msg="StopContainer for \"{cdsha}\" with timeout {cdgrace} (s)"
time="{cdtime}" level=info msg="Stop container \"{cdsha}\" with signal {cdsignal}"
time="{cdtime}" level=info msg="Kill container \"{cdsha}\""
time="{cdtime}" level=info msg="RemoveContainer for \"{cdsha}\" returns successfully"
time="{cdtime}" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:{cdpod},Uid:{uuid},Namespace:{cdk8s},Attempt:{digit},}"
time="{cdtime}" level=info msg="TearDown network for sandbox \"{cdsha}\" successfully"
time="{cdtime}" level=info msg="PullImage \"{cdimage}\""
time="{cdtime}" level=info msg="PullImage \"{cdimage}\" returns image reference \"sha256:{cdsha}\""
time="{cdtime}" level=info msg="ImageCreate event name:\"{cdimage}\"[[ labels:{key:\"io.cri-containerd.image\" value:\"managed\"}]]"
time="{cdtime}" level=info msg="stop pulling image {cdimage}: active requests=0, bytes read={big}"
time="{cdtime}" level=error msg="PullImage \"{cdimage}\" failed" error="{cdpull}"
time="{cdtime}" level=error msg="ContainerStatus for \"{cdsha}\" failed" error="rpc error: code = NotFound desc = an error occurred when try to find container \"{cdsha}\": not found"
time="{cdtime}" level=error msg="ExecSync for \"{cdsha}\" failed" error="failed to exec in container: {cdexec}"
time="{cdtime}" level=info msg="TaskExit event container_id:\"{cdsha}\"  id:\"{cdsha}\"  pid:{pid}  exit_status:{cdexit}  exited_at:{seconds:{big}  nanos:{big}}"
time="{cdtime}" level=info msg="TaskOOM event container_id:\"{cdsha}\""
time="{cdtime}" level=error msg="Handler for {cdverb} {cdapi} returned error: {cderr}"[[ spanID={hex16} traceID={hex16}{hex16}]]
time="{cdtime}" level=debug msg="Calling {cdverb} {cdapi}"
time="{cdtime}" level=warning msg="Health check for container {cdsha} error: {cdhealth}"
time="{cdtime}" level=info msg="Container failed to exit within {cdgrace}s of signal {digit} - using the force" container={cdsha}[[ spanID={hex16} traceID={hex16}{hex16}]]
time="{cdtime}" level=info msg="Attempting next endpoint for pull after error: {cdpull}"
time="{cdtime}" level=error msg="Not continuing with pull after error: {cdpull}"
time="{cdtime}" level=info msg="Download failed, retrying ({digit}/5): {cdnet}"
time="{cdtime}" level=warning msg="failed to prune image {cdimage}: conflict: unable to delete {hex12} (must be forced) - image is referenced in multiple repositories"
time="{cdtime}" level=error msg="[resolver] failed to query external DNS server" client-addr="udp:{cdlocal}:{port}" dns-server="udp:{cddns}:53" error="{cdresolve}" question=";{cdquestion}.\tIN\t {cdrr}"
time="{cdtime}" level=warning msg="No non-localhost DNS nameservers are left in resolv.conf. Using default external servers"
time="{cdtime}" level=info msg="No non-localhost DNS nameservers are left in resolv.conf. Using default external servers: [nameserver {cddns} nameserver {cddns}]"
time="{cdtime}" level=info msg="Loading containers: start."
time="{cdtime}" level=info msg="Loading containers: done."
time="{cdtime}" level=info msg="Default bridge (docker0) is assigned with an IP address 172.17.0.0/16. Daemon option --bip can be used to set a preferred IP address"
time="{cdtime}" level=info msg="Removing stale sandbox {cdsha} ({cdsha})"
time="{cdtime}" level=warning msg="Error (Unable to complete atomic operation, key modified) deleting object [endpoint {cdsha} {cdsha}], retrying...."
time="{cdtime}" level=info msg="Docker daemon" commit={hex7} containerd-snapshotter={truefalse2} storage-driver={cddriver} version={version}
time="{cdtime}" level=info msg="Daemon has completed initialization"
time="{cdtime}" level=info msg="API listen on {cdlisten}"
time="{cdtime}" level=info msg="Processing signal '{cdsignal2}'"
time="{cdtime}" level=info msg="containerd successfully booted in {micro6}s"
time="{cdtime}" level=info msg="serving..." address={cdsock}
time="{cdtime}" level=info msg="skip loading plugin \"io.containerd.{cdplugin}\"..." error="{cdskip}: skip plugin" type=io.containerd.{cdtype}
time="{cdtime}" level=error msg="failed to load cni during init, please check CRI plugin status before setting up network for pods" error="cni config load failed: no network config found in /etc/cni/net.d: cni plugin not initialized: failed to load cni config"
time="{cdtime}" level=error msg="failed to reload cni configuration after receiving fs change event({cdfsevent})" error="cni config load failed: {cdcni}"
time="{cdtime}" level=info msg="{cdcalico}" ContainerID="{cdsha}" Namespace="{cdk8s}" Pod="{cdpod}" WorkloadEndpoint="{cdnode}-k8s-{cdpod}-eth0"
time="{cdtime}" level=warning msg="runc run failed: {cdrunc}"
time="{cdtime}" level=error msg="{cdsha} cleanup: failed to delete container from containerd: no such container"
time="{cdtime}" level=error msg="copy shim log" error="read /proc/self/fd/{small2}: file already closed"[[ namespace={cdns}]]
time="{cdtime}" level=warning msg="unknown status" status={digit}
time="{cdtime}" level=info msg="NetworkDB stats {cdnode}({hex12}) - netID:{hex12} leaving:{truefalse2} netPeers:{digit} entries:{small2} Queue qLen:{digit} netMsg/s:{digit}"
time="{cdtime}" level=error msg="agent: session failed" backoff={godur} error="{cdswarm}" module=node/agent node.id={cdid}
time="{cdtime}" level=error msg="fatal task error" error="task: non-zero exit ({cdexit})[[: {cdhealth}]]" module=node/agent/taskmanager node.id={cdid} service.id={cdid} task.id={cdid}
time="{cdtime}" level=info msg="Node {hex12}/{cdlocal}, joined gossip cluster"
time="{cdtime}" level=info msg="Node {hex12}/{cdlocal}, left gossip cluster"
"""

METRICS = r"""
ts={pmts} caller=compact.go:519 level=info component=tsdb msg="write block" mint={pmms} maxt={pmms} ulid={pmulid} duration={godur}
ts={pmts} caller=head.go:834 level=info component=tsdb msg="Head GC completed" duration={godur}
logger=context userId={small} orgId=1 uname={grname} t={pmts} level=info msg="Request Completed" method={grmethod} path={grpath} status={grstatus} remote_addr={grip} time_ms={small2} duration={godur} size={int} referer={grreferer} handler={grpath}[[ status_source={grsource}]]
ts={pmts} caller=checkpoint.go:100 level=info component=tsdb msg="Creating checkpoint" from_segment={int} to_segment={int} mint={pmms}
ts={pmts} caller=head.go:1002 level=info component=tsdb msg="WAL checkpoint complete" first={int} last={int} duration={godur}
ts={pmts} caller=metrics.go:159 component={lkcomp} org_id={lkorg}[[ traceID={hex16}]] latency={lklat} query="{lkquery}" query_type={lktype} range_type={lkrange} length={lklength} step={lkstep} duration={godur} status={lkstatus} limit={lklimit} returned_lines={int} throughput={lksize} total_bytes={lksize} lines_per_second={int} total_lines={int} total_entries={int} queue_time={godur} subqueries={digit}[[ cache_chunk_req={small2} cache_chunk_hit={small2}]] splits={digit} shards={small2}
ts={pmts} caller=db.go:1293 level=info component=tsdb msg="Deleting obsolete block" block={pmulid}
ts={pmts} caller=compact.go:460 level=info component=tsdb msg="compact blocks" count={digit} mint={pmms} maxt={pmms} ulid={pmulid} sources="[{pmulids}]" duration={godur}
ts={pmts} caller=scrape.go:1703 level=warn component="scrape manager" scrape_pool={pmpool} target={pmtarget} msg="Error on ingesting {pmingest}" num_dropped={small2}
ts={pmts} caller=scrape.go:1383 level=debug component="scrape manager" scrape_pool={pmpool} target={pmtarget} msg="Scrape failed" err="{pmscrape}"
ts={pmts} caller=dedupe.go:112 component=remote level=warn remote_name={hex6} url={pmremote} msg="Failed to send batch, retrying" err="{pmsend}"
ts={pmts} caller=dedupe.go:112 component=remote level=info remote_name={hex6} url={pmremote} msg="Remote storage resharding" from={small2} to={small2}
ts={pmts} caller=dedupe.go:112 component=remote level=error remote_name={hex6} url={pmremote} msg="non-recoverable error" count={int} exemplarCount=0 err="{pmsend}"
ts={pmts} caller=manager.go:663 level=warn component="rule manager" file=/etc/prometheus/rules/{pmrules}.yml group={pmgroup} name={pmalert} index={small} msg="Evaluating rule failed" rule="{pmrule}" err="{pmeval}"
ts={pmts} caller=manager.go:700 level=warn component="rule manager" file=/etc/prometheus/rules/{pmrules}.yml group={pmgroup} name={pmalert} index={small} msg="Error on ingesting out-of-order result from rule evaluation" num_dropped={small2}
ts={pmts} caller=notifier.go:544 level=error component=notifier alertmanager=http://{amhost}:9093/api/v2/alerts count={small2} msg="Error sending alert{pmplural}" err="{pmscrape}"
ts={pmts} caller=dispatch.go:353 level=error component=dispatcher msg="Notify for alerts failed" num_alerts={small2} err="{amreceiver}/{amkind}[{digit}]: notify retry canceled {amcancel}: {amnotify}"
ts={pmts} caller=notify.go:848 level=warn component=dispatcher receiver={amreceiver} integration={amkind}[{digit}] aggrGroup="{}:{alertname=\"{pmalert}\"}" msg="Notify attempt failed, will retry later" attempts={digit} err="{amnotify}"
ts={pmts} caller=notify.go:860 level=info component=dispatcher receiver={amreceiver} integration={amkind}[{digit}] aggrGroup="{}:{alertname=\"{pmalert}\"}" msg="Notify success" attempts={digit}[[ duration={godur}]]
ts={pmts} caller=cluster.go:708 level=info component=cluster msg="gossip settled; proceeding" elapsed={godur}
ts={pmts} caller=cluster.go:699 level=info component=cluster msg="gossip not settled" polls={small} before={digit} now={digit} elapsed={godur}
ts={pmts} caller=delegate.go:260 level=debug component=cluster received=NotifyJoin node={pmulid} addr={lkip}:9094
ts={pmts} caller=silences.go:{three} level=info component=silences msg="Running maintenance {amstate}"
ts={pmts} caller=coordinator.go:113 level=info component=configuration msg="Loading configuration file" file=/etc/{pmprogram}/{pmprogram}.yml
ts={pmts} caller=coordinator.go:126 level=info component=configuration msg="Completed loading of configuration file" file=/etc/{pmprogram}/{pmprogram}.yml
ts={pmts} caller=coordinator.go:118 level=error component=configuration msg="Loading configuration file failed" file=/etc/{pmprogram}/{pmprogram}.yml err="yaml: line {small2}: {pmyaml}"
ts={pmts} caller=main.go:1229 level=info msg="Completed loading of configuration file" filename=/etc/prometheus/prometheus.yml totalDuration={godur} db_storage={pmus} remote_storage={godur} web_handler={pmns} query_engine={pmus} scrape={godur} scrape_sd={godur} notify={pmus} notify_sd={pmus} rules={godur} tracing={pmus}
ts={pmts} caller=main.go:583 level=info msg="Starting Prometheus Server" mode={pmmode} version="(version={version}, branch=HEAD, revision={sha})"
ts={pmts} caller=main.go:1024 level=info msg="Server is ready to receive web requests."
ts={pmts} caller=main.go:961 level=warn msg="Received an OS signal, exiting gracefully..." signal={pmsignal}
ts={pmts} caller=tls_config.go:313 level=info component=web msg="Listening on" address=[::]:{pmport}
ts={pmts} caller=tls_config.go:316 level=info component=web msg="TLS is {pmtls}." http2={truefalse2} address=[::]:{pmport}
ts={pmts} caller=head.go:755 level=info component=tsdb msg="WAL segment loaded" segment={int} maxSegment={int}
ts={pmts} caller=head.go:792 level=info component=tsdb msg="WAL replay completed" checkpoint_replay_duration={godur} wal_replay_duration={godur} wbl_replay_duration={pmns} chunk_snapshot_load_duration={pmns} mmap_chunk_replay_duration={godur} total_replay_duration={godur}
ts={pmts} caller=repair.go:56 level=info component=tsdb msg="Found healthy block" mint={pmms} maxt={pmms} ulid={pmulid}
ts={pmts} caller=kubernetes.go:331 level=info component="discovery manager scrape" discovery=kubernetes config={pmpool} msg="Using pod service account via in-cluster config"
ts={pmts} caller=klog.go:108 level=warn component=k8s_client_runtime func=Warning msg="watch of {pmwatch} ended with: {pmwatcherr}"
ts={pmts} caller=refresh.go:99 level=error component="discovery manager scrape" discovery={pmsd} config={pmpool} msg="Unable to refresh target groups" err="{pmscrape}"
level=info ts={pmts} caller=flush.go:167 msg="flushing stream" user={lkorg} fp={hex16} immediate={truefalse2} num_chunks={digit} labels="{lkselector}"
level=info ts={pmts} caller=table_manager.go:134 index-store={lkstore}-2026-01-01 msg="uploading tables"
level=info ts={pmts} caller=table.go:443 msg="cleaning up unwanted dbs from table loki_index_{five}"
level=info ts={pmts} caller=index_set.go:86 msg="uploading table loki_index_{five}"
level=info ts={pmts} caller=recalculate_owned_streams.go:49 msg="completed recalculate owned streams job"
level=warn ts={pmts} caller=grpc_logging.go:64 method=/logproto.{lkmethod} duration={godur} msg=gRPC err="{lkgrpc}"
level=warn ts={pmts} caller=logging.go:128[[ trace_id={hex16}]] orgID={lkorg} msg="POST /loki/api/v1/push ({lkcode}) {godur} Response: \"{lkreject}\\n\" ws: false; Content-Length: {int}; Content-Type: application/x-protobuf; User-Agent: promtail/{version}; X-Scope-Orgid: {lkorg}; "
level=error ts={pmts} caller=client.go:430 component=client host={lkhost}:3100 msg="final error sending batch" status={lkcode2} tenant={lkorg2} error="{pmsend}"
level=info ts={pmts} caller=filetarget.go:313 msg="watching new directory" directory=/var/log/pods/{cdk8s}_{cdpod}_{uuid}/{cdname}
level=info ts={pmts} caller=tailer.go:147 component=tailer msg="tail routine: started" path=/var/log/pods/{cdk8s}_{cdpod}_{uuid}/{cdname}/{digit}.log
level=info ts={pmts} caller=tailer.go:118 component=tailer msg="position timer: exited" path=/var/log/pods/{cdk8s}_{cdpod}_{uuid}/{cdname}/{digit}.log
level=info ts={pmts} caller=memberlist_client.go:595 phase=startup msg="joining memberlist cluster succeeded" reached_nodes={digit} elapsed_time={godur}
level=warn ts={pmts} caller=tcp_transport.go:440 component="memberlist TCPTransport" msg="WriteTo failed" addr={lkip}:7946 err="dial tcp {lkip}:7946: {pmdial}"
level=info ts={pmts} caller=lifecycler.go:{three} component=ingester msg="auto-joining cluster after timeout" ring=ingester
logger=tsdb.{grds} endpoint=queryData pluginId={grds} dsName="{grdsname}" dsUID={grdsuid} uname={grname} fromAlert={truefalse2} t={pmts} level=info msg="Prepared request to {grds} failed" status={grstatus2} error="{pmscrape}"
logger=ngalert.scheduler rule_uid={grdsuid} org_id=1 version={count} fingerprint={hex16} now={pmts} t={pmts} level=debug msg="Alert rule evaluated" results="{grresult}" duration={godur}
logger=ngalert.state.manager rule_uid={grdsuid} org_id=1 t={pmts} level=debug msg="Detected stale state entry" cacheID={grcache} state={gralert} reason={grreason}
logger=cleanup t={pmts} level=info msg="Completed cleanup jobs" duration={godur}
logger=plugins.update.checker t={pmts} level=info msg="Update check succeeded" duration={godur}
logger=authn.service t={pmts} level=warn msg="Failed to authenticate request" client=auth.client.{grclient} error="{grauth}"
"""

PARTITIONS = r"""
[GroupCoordinator {kfid}]: Preparing to rebalance group {kfgroup} in state PreparingRebalance with old generation {int} (__consumer_offsets-{small2}) (reason: {kfreason}) (kafka.coordinator.group.GroupCoordinator)
[GroupCoordinator {kfid}]: Stabilized group {kfgroup} generation {int} (__consumer_offsets-{small2}) with {small2} members (kafka.coordinator.group.GroupCoordinator)
[GroupCoordinator {kfid}]: Assignment received from leader {kfmember} for group {kfgroup} for generation {int}. The group has {small2} members, {digit} of which are static. (kafka.coordinator.group.GroupCoordinator)
[GroupCoordinator {kfid}]: Member {kfmember} in group {kfgroup} has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)
[LocalLog partition={kftp}, dir={kfdir}] Rolled new log segment at offset {big} in {small} ms. (kafka.log.LocalLog)
[UnifiedLog partition={kftp}, dir={kfdir}] Deleting segment LogSegment(baseOffset={big}, size={big}, lastModifiedTime={pmms}, largestRecordTimestamp={pmms}) due to {kfretention} (kafka.log.UnifiedLog)
[UnifiedLog partition={kftp}, dir={kfdir}] Incremented log start offset to {big} due to {kfincrement} (kafka.log.UnifiedLog)
[LocalLog partition={kftp}, dir={kfdir}] Deleting segment files LogSegment(baseOffset={big}, size={big}, lastModifiedTime={pmms}, largestRecordTimestamp={pmms}) (kafka.log.LocalLog$)
Deleted log {kfdir}/{kftp}/{kfoffset}.log.deleted. (kafka.log.LogSegment)
Deleted {kfindex} index {kfdir}/{kftp}/{kfoffset}.{kfsuffix}.deleted. (kafka.log.LogSegment)
[ProducerStateManager partition={kftp}] Wrote producer snapshot at offset {big} with {small} producer ids in {small} ms. (kafka.log.ProducerStateManager)
[Partition {kftp} broker={kfid}] Shrinking ISR from {kfids} to {kfids}. Leader: (highWatermark: {big}, endOffset: {big}). Out of sync replicas: {kfoutsync}. (kafka.cluster.Partition)
[Partition {kftp} broker={kfid}] Expanding ISR from {kfids} to {kfids} (kafka.cluster.Partition)
[Partition {kftp} broker={kfid}] ISR updated to {kfids}[[ (under-min-isr)]] and version updated to {count} (kafka.cluster.Partition)
[Partition {kftp} broker={kfid}] {kftp} starts at leader epoch {count} from offset {big} with partition epoch {count}, high watermark {big}, ISR [{kfids}], adding replicas [] and removing replicas [][[ (under-min-isr)]]. Previous leader {kfleader} and previous leader epoch was {count}. (kafka.cluster.Partition)
[ReplicaFetcher replicaId={kfid}, leaderId={kfid}, fetcherId={digit}] Error in response for fetch request (type=FetchRequest, replicaId={kfid}, maxWait=500, minBytes=1, maxBytes=10485760, fetchData={}, isolationLevel=READ_UNCOMMITTED, removed=, replaced=, metadata=(sessionId={big}, epoch={kfepoch}), rackId=) (kafka.server.ReplicaFetcherThread)
[ReplicaFetcher replicaId={kfid}, leaderId={kfid}, fetcherId={digit}] Partition {kftp} has an older epoch ({count}) than the current leader. Will await the new LeaderAndIsr state before resuming fetching. (kafka.server.ReplicaFetcherThread)
[ReplicaFetcher replicaId={kfid}, leaderId={kfid}, fetcherId={digit}] Truncating partition {kftp} with TruncationState(offset={big}, completed={truefalse2}) due to leader epoch and offset EpochEndOffset(errorCode=0, partition={digit}, leaderEpoch={count}, endOffset={big}) (kafka.server.ReplicaFetcherThread)
[ReplicaFetcherManager on broker {kfid}] Removed fetcher for partitions Set({kftps}) (kafka.server.ReplicaFetcherManager)
[ReplicaFetcherManager on broker {kfid}] Added fetcher to broker {kfid} for partitions HashMap({kfstates}) (kafka.server.ReplicaFetcherManager)
[Broker id={kfid}] Transitioning {count} partition(s) to local {kfrole}. (state.change.logger)
[Broker id={kfid}] Leader {kftp} with topic id Some({kfuid}) starts at leader epoch {count} from offset {big} with partition epoch {count}, high watermark {big}, ISR {kfidlist}, adding replicas [] and removing replicas []. Previous leader {kfleader} and previous leader epoch was {count}. (state.change.logger)
[Broker id={kfid}] Follower {kftp} starts at leader epoch {count} from offset {big} with partition epoch {count} and high watermark {big}. Current leader is {kfid}. Previous leader {kfleader} and previous leader epoch was {count}. (state.change.logger)
[NodeToControllerChannelManager id={kfid} name={kfchannel}] Disconnecting from node {kfid} due to {kfdisc}. (elapsed time since creation: {int}ms, elapsed time since send: {int}ms, request timeout: 30000ms) (org.apache.kafka.clients.NetworkClient)
[NodeToControllerChannelManager id={kfid} name={kfchannel}] Node {kfid} disconnected. (org.apache.kafka.clients.NetworkClient)
[Consumer clientId={kfclient}, groupId={kfgroup}] Node {kfnode} disconnected. (org.apache.kafka.clients.NetworkClient)
[Consumer clientId={kfclient}, groupId={kfgroup}] (Re-)joining group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)
[Consumer clientId={kfclient}, groupId={kfgroup}] Setting offset for partition {kftp} to the committed offset FetchPosition{offset={big}, offsetEpoch={kfoptional}, currentLeader=LeaderAndEpoch{leader=Optional[{kfhost}:9092 (id: {kfid} rack: {kfrack})], epoch={count}}} (org.apache.kafka.clients.consumer.internals.ConsumerUtils)
[Consumer clientId={kfclient}, groupId={kfgroup}] Adding newly assigned partitions: {kftps} (org.apache.kafka.clients.consumer.internals.ConsumerRebalanceListenerInvoker)
[Consumer clientId={kfclient}, groupId={kfgroup}] Revoke previously assigned partitions {kftps} (org.apache.kafka.clients.consumer.internals.ConsumerRebalanceListenerInvoker)
[Producer clientId={kfclient}{kftxn}] Got error produce response with correlation id {int} on topic-partition {kftp}, retrying ({big} attempts left). Error: {kferror} (org.apache.kafka.clients.producer.internals.Sender)
[Producer clientId={kfclient}] ProducerId set to {int} with epoch {small} (org.apache.kafka.clients.producer.internals.TransactionManager)
[TransactionCoordinator id={kfid}] Initialized transactionalId {kfgroup}-{digit} with producerId {int} and producer epoch {small} on partition __transaction_state-{small2} (kafka.coordinator.transaction.TransactionCoordinator)
[GroupMetadataManager brokerId={kfid}] Scheduling loading of offsets and group metadata from __consumer_offsets-{small2} for epoch {count} (kafka.coordinator.group.GroupMetadataManager)
[GroupMetadataManager brokerId={kfid}] Finished loading offsets and group metadata from __consumer_offsets-{small2} in {int} milliseconds for epoch {count}, of which {int} milliseconds was spent in the scheduler. (kafka.coordinator.group.GroupMetadataManager)
[GroupMetadataManager brokerId={kfid}] Group {kfgroup} transitioned to Dead in generation {int} (kafka.coordinator.group.GroupMetadataManager)
[QuorumController id={kfid}] Replayed {kfrecord} for topic {kftopic} with topic ID {kfuid}. (org.apache.kafka.controller.ReplicationControlManager)
[QuorumController id={kfid}] CreateTopics result(s): CreatableTopic(name='{kftopic}', numPartitions={small2}, replicationFactor={digit}, assignments=[], configs=[{kfconfigs}]): {kfcreate} (org.apache.kafka.controller.ReplicationControlManager)
[QuorumController id={kfid}] Fencing broker {kfid} at epoch {int} because its session has timed out. (org.apache.kafka.controller.ReplicationControlManager)
[QuorumController id={kfid}] The request from broker {kfid} to unfence has been granted because it has caught up with the offset of its register broker record {big}. (org.apache.kafka.controller.BrokerHeartbeatManager)
[QuorumController id={kfid}] handleBrokerFenced: changing {small2} partition(s) (org.apache.kafka.controller.ReplicationControlManager)
[RaftManager id={kfid}] Completed transition to {kfraft} from {kfraft} (org.apache.kafka.raft.QuorumState)
[BrokerLifecycleManager id={kfid}] Successfully registered broker {kfid} with broker epoch {int} (kafka.server.BrokerLifecycleManager)
[BrokerLifecycleManager id={kfid}] Unable to register the broker because the RPC got timed out before it could be sent. (kafka.server.BrokerLifecycleManager)
[SocketServer listenerType={kfltype}, nodeId={kfid}] Failed authentication with {ip} (channelId={kfserver}:9093-{ip}:{port}-{small2}) ({kfauth}) (org.apache.kafka.common.network.Selector)
[SocketServer listenerType={kfltype}, nodeId={kfid}] Unexpected error from {ip} (channelId={kfserver}:9092-{ip}:{port}-{small2}); closing connection (org.apache.kafka.common.network.Selector)
[ThrottledChannelReaper-{kfquota}]: Starting (kafka.server.ClientQuotaManager$ThrottledChannelReaper)
[ReplicaManager broker={kfid}] Error processing append operation on partition {kftp} (kafka.server.ReplicaManager)
[ReplicaManager broker={kfid}] Stopping serving replicas in dir {kfdir} (kafka.server.ReplicaManager)
[LogLoader partition={kftp}, dir={kfdir}] Loading producer state till offset {big} with message format version 2 (kafka.log.UnifiedLog$)
[LogLoader partition={kftp}, dir={kfdir}] Recovering unflushed segment {big}. {small}/{small} recovered for {kftp}. (kafka.log.LogLoader)
Completed load of Log(dir={kfdir}/{kftp}, topicId={kfuid}, topic={kftopic}, partition={digit}, highWatermark={big}, lastStableOffset={big}, logStartOffset={big}, logEndOffset={big}) with {small} segments, local-log-start-offset {big} and local-log-end-offset {big} in {int}ms ({int}/{int} completed in {kfdir}) (kafka.log.LogManager)
Found a corrupted index file corresponding to log file {kfdir}/{kftp}/{kfoffset}.log due to Corrupt index found, index file ({kfdir}/{kftp}/{kfoffset}.index) has non-zero size but the last offset is {big} which is less than the base offset {big}.}, recovering segment and rebuilding index files... (kafka.log.LogLoader)
Cleaner 0: Beginning cleaning of log {kftp} (kafka.log.LogCleaner)
Cleaner 0: Cleaning LogSegment(baseOffset={big}, size={big}, lastModifiedTime={pmms}, largestRecordTimestamp={pmms}) in log {kftp} into {big} with an upper bound deletion horizon {pmms} computed from the segment last modified time of {pmms},{kfretain} deletes. (kafka.log.LogCleaner)
[kafka-log-cleaner-thread-0]: Log cleaner thread 0 cleaned log {kftp} (dirty section = [{big}, {big}]) (kafka.log.LogCleaner)
[Controller id={kfid} epoch={count}] Processing automatic preferred replica leader election (kafka.controller.KafkaController)
[Admin Manager on Broker {kfid}]: Error processing create topic request CreatableTopic(name='{kftopic}', numPartitions={small2}, replicationFactor={digit}, assignments=[], configs=[{kfconfigs}]) (kafka.server.ZkAdminManager)
[KafkaServer id={kfid}] started (kafka.server.KafkaServer)
"""

PERIMETER = r"""
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0001000014" type="traffic" subtype="local" level="notice" vd="root" srcip={ip} srcport={port} srcintf="{fgintf}" dstip={fgwan} dstport={fgport} dstintf="root" srccountry="{fgcountry}" dstcountry="{fgcountry}" sessionid={big} proto={fgproto} action="deny" policyid=0 policytype="local-in-policy" service="{fgservice}" trandisp="noop" app="{fgservice}" duration=0 sentbyte=0 rcvdbyte=0 sentpkt=0 rcvdpkt=0 appcat="unscanned"
1,2026/11/{day} {clock},{paserial},USERID,{palogin},{pacfg},vsys1,{fgsrc},{pauser},{fgserver},0,1,{int},0,0,{pasource},{pasource2},{big},0x0,0,0,0,0,,{padev},1,,2026/11/{day} {clock},1,0x80,{fguser}
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0000000013" type="traffic" subtype="forward" level="notice" vd="root" srcip={fgsrc} srcport={port} srcintf="{fgintf}" dstip={fgdst} dstport={fgport} dstintf="{fgintf}" srccountry="Reserved" dstcountry="{fgcountry}" sessionid={big} proto={fgproto} action="{fgaction}" policyid={count} policyname="{fgpolicy}" service="{fgservice}" trandisp="{fgnat}"[[ transip={fgwan} transport={port}]] duration={count} sentbyte={int} rcvdbyte={int} appcat="{fgappcat}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0100026001" type="event" subtype="system" level="information" vd="root" logdesc="DHCP Ack log" interface="{fgintf}" dhcp_msg="Ack" mac="{mac}" ip={fgsrc} lease={int} hostname="{fgclient}" msg="DHCP server sends a DHCPACK"
1,2026/11/{day} {clock},{paserial},SYSTEM,general,0,,general,,0,0,general,{paseverity},"{pasystem}",{big},0x0,0,0,0,0,,{padev}
1,2026/11/{day} {clock},{paserial},TRAFFIC,end,{pacfg},{fgsrc},{fgdst},{panat},{panat},{parule},{pauser},,{paapp},vsys1,{pazone},{pazone},{paintf},{paintf},{int},1,{port},{fgport},{paport},{paport},0x{pahex},{paproto},allow,{int},{int},{int},{count},{count},{pacat},{paloc},{paloc},,{paend},{padev},from-policy
1,2026/11/{day} {clock},{paserial},TRAFFIC,start,{pacfg},{fgsrc},{fgdst},{panat},{panat},{parule},{pauser},,{paapp},vsys1,{pazone},{pazone},{paintf},{paintf},{int},1,{port},{fgport},{paport},{paport},0x{pahex},{paproto},allow,{int},{int},{int},{count},0,{pacat},{paloc},{paloc},,n/a,{padev},from-policy
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0102043008" type="event" subtype="user" level="notice" vd="root" logdesc="Authentication success" srcip={fgsrc} dstip={fgwan} policyid={digit} interface="{fgintf}" user="{fguser}" group="{fggroup}" authproto="{fgauthproto}" action="authentication" status="success" reason="N/A" msg="User {fguser} succeeded in authentication"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0101037139" type="event" subtype="vpn" level="notice" vd="root" logdesc="IPsec phase 2 status change" msg="IPsec phase 2 status change" action="phase2-{fgupdown}" remip={ip} locip={fgwan} remport={fgike} locport={fgike} outintf="{fgintf}" cookies="{hex16}/{hex16}" user="{fgvpn}" group="N/A" xauthuser="N/A" xauthgroup="N/A" assignip=N/A vpntunnel="{fgvpn}" phase2_name="{fgvpn}-p2"
1,2026/11/{day} {clock},{paserial},SYSTEM,auth,0,,auth-fail,{fggroup},0,0,general,medium,"failed authentication for user '{fguser}'. Reason: {pafail}. auth profile '{fggroup}', vsys 'vsys1', server profile '{fggroup}', server address '{fgserver}', From: {ip}.",{big},0x0,0,0,0,0,,{padev}
1,2026/11/{day} {clock},{paserial},TRAFFIC,drop,{pacfg},{fgsrc},{fgdst},0.0.0.0,0.0.0.0,{parule},,,not-applicable,vsys1,{pazone},{pazone},{paintf},,0,1,{port},{fgport},0,0,0x0,{paproto},deny,{int},{int},0,1,0,any,{paloc},{paloc},,policy-deny,{padev},from-policy
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0317013312" type="utm" subtype="webfilter" eventtype="ftgd_allow" level="notice" vd="root" policyid={count} sessionid={big}[[ user="{fguser}" group="{fggroup}"]] srcip={fgsrc} srcport={port} srcintf="{fgintf}" dstip={fgdst} dstport={fgport} dstintf="{fgintf}" proto=6 service="{fghttp}" hostname="{fghost}" profile="{fgprofile}" action="passthrough" reqtype="{fgreq}" url="{fgurl}" sentbyte={int} rcvdbyte={int} direction="outgoing" msg="URL belongs to an allowed category in policy" method="domain" cat={small2} catdesc="{fgcat}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0316013056" type="utm" subtype="webfilter" eventtype="ftgd_blk" level="warning" vd="root" policyid={count} sessionid={big}[[ user="{fguser}" group="{fggroup}"]] srcip={fgsrc} srcport={port} srcintf="{fgintf}" dstip={fgdst} dstport={fgport} dstintf="{fgintf}" proto=6 service="{fghttp}" hostname="{fghost}" profile="{fgprofile}" action="blocked" reqtype="{fgreq}" url="{fgurl}" sentbyte={int} rcvdbyte=0 direction="outgoing" msg="URL belongs to a denied category in policy" method="domain" cat={small2} catdesc="{fgcat}" crscore=30 craction=4194304 crlevel="high"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="1059028704" type="utm" subtype="app-ctrl" eventtype="signature" level="information" vd="root" appid={int} srcip={fgsrc} dstip={fgdst} srcport={port} dstport={fgport} srcintf="{fgintf}" dstintf="{fgintf}" proto={fgproto} service="{fgservice}" direction="outgoing" policyid={count} sessionid={big} applist="{fgprofile}" action="pass" appcat="{fgappcat}" app="{fgapp}"[[ hostname="{fghost}" incidentserialno={big} url="{fgurl}"]] msg="{fgappcat}: {fgapp}" apprisk="{fgrisk}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="1501054802" type="utm" subtype="dns" eventtype="dns-response" level="notice" vd="root" policyid={count} sessionid={big} srcip={fgsrc} srcport={port} srcintf="{fgintf}" dstip={fgdst} dstport=53 dstintf="{fgintf}" proto=17 profile="{fgprofile}" xid={int} qname="{fghost}" qtype="{fgqtype}" qtypeval={small2} qclass="IN" ipaddr="{ip}" msg="Domain is monitored" action="pass" cat={small2} catdesc="{fgcat}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0419016384" type="utm" subtype="ips" eventtype="signature" level="alert" vd="root" severity="{fgrisk}" srcip={ip} srccountry="{fgcountry}" dstip={fgsrc} srcintf="{fgintf}" dstintf="{fgintf}" sessionid={big} action="{fgips}" proto=6 service="{fghttp}" policyid={count} attack="{fgattack}" srcport={port} dstport={fgport} hostname="{fghost}" url="{fgurl}" direction="outgoing" attackid={int} profile="{fgprofile}" ref="http://www.fortinet.com/ids/VID{int}" incidentserialno={big} msg="{fgattackkind}: {fgattack}," crscore={small2} crlevel="{fgrisk}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0211008192" type="utm" subtype="virus" eventtype="infected" level="warning" vd="root" policyid={count} msg="File is infected." action="blocked" service="{fghttp}" sessionid={big} srcip={fgsrc} dstip={fgdst} srcport={port} dstport={fgport} srcintf="{fgintf}" dstintf="{fgintf}" proto=6 direction="incoming" filename="{fgfile}" quarskip="Quarantine-disabled" virus="{fgvirus}" dtype="av-engine" ref="http://www.fortinet.com/ve?vn={fgvirus}" virusid={int} url="{fgurl}" profile="{fgprofile}" crscore=50 craction=2 crlevel="critical"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0101037127" type="event" subtype="vpn" level="notice" vd="root" logdesc="Progress IPsec phase 1" msg="progress IPsec phase 1" action="negotiate" remip={ip} locip={fgwan} remport={fgike} locport={fgike} outintf="{fgintf}" cookies="{hex16}/{hex16}" user="N/A" group="N/A" vpntunnel="{fgvpn}" status="{fgstatus}" init="{fginit}" mode="main" dir="{fgdir}" stage={digit} role="{fginit2}" result="{fgresult}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0101039424" type="event" subtype="vpn" level="information" vd="root" logdesc="SSL VPN tunnel up" action="tunnel-up" tunneltype="{fgtunnel}" tunnelid={big} remip={ip}[[ tunnelip={fgsrc}]] user="{fguser}" group="{fggroup}" dst_host="N/A" reason="{fgreason}" msg="SSL tunnel established"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0101039426" type="event" subtype="vpn" level="alert" vd="root" logdesc="SSL VPN login fail" action="ssl-login-fail" tunneltype="ssl-web" tunnelid=0 remip={ip} user="{fguser}" group="N/A" dst_host="N/A" reason="{fgfail}" msg="SSL user failed to logged in"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0100032001" type="event" subtype="system" level="information" vd="root" logdesc="Admin login successful" sn="{big}" user="{fgadmin}" ui="{fgui}({fgsrc})" method="{fgui}" srcip={fgsrc} dstip={fgwan} action="login" status="success" reason="none" profile="{fgadminprofile}" msg="Administrator {fgadmin} logged in successfully from {fgui}({fgsrc})"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0100032002" type="event" subtype="system" level="alert" vd="root" logdesc="Admin login failed" sn="0" user="{fgadmin}" ui="{fgui}({ip})" method="{fgui}" srcip={ip} dstip={fgwan} action="login" status="failed" reason="{fgadminfail}" msg="Administrator {fgadmin} login failed from {fgui}({ip}) because of invalid {fgwhat}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0100044547" type="event" subtype="system" level="information" vd="root" logdesc="Object attribute configured" user="{fgadmin}" ui="{fgui}({fgsrc})" action="{fgedit}" cfgtid={big} cfgpath="{fgcfg}" cfgobj="{fgobject}" cfgattr="{fgattr}" msg="{fgedit} {fgcfg} {fgobject}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0100040704" type="event" subtype="system" level="notice" vd="root" logdesc="System performance statistics" action="perf-stats" cpu={percent} mem={percent} totalsession={int} disk={small2} bandwidth="{int}/{int}" setuprate={count} disklograte={small} fazlograte={small} freediskstorage={int} sysuptime={big} waninfo="{fgwaninfo}" msg="Performance statistics: average CPU: {percent}, memory:  {percent}, concurrent sessions:  {int}, setup-rate: {count}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0100020099" type="event" subtype="system" level="information" vd="root" logdesc="Interface status changed" action="interface-stat-change" status="{fgupdown2}" msg="Link monitor: Interface {fgintf} was turned {fgupdown}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0108037892" type="event" subtype="ha" level="notice" vd="root" logdesc="Virtual cluster member state moved" msg="Virtual cluster's member state moved" ha_role="{fgha}" vcluster=1 vcluster_state="{fghastate}" vcluster_member=0 hostname="{fgdev}" sn="{fgid}"
date=2026-11-{day} time={clock} devname="{fgdev}" devid={fgid} logid="0113022923" type="event" subtype="sdwan" level="notice" vd="root" logdesc="Virtual WAN Link status" eventtype="Service" interface="{fgintf}" serviceid={digit} service="{fgpolicy}" seq="{digit},{digit}" msg="Service prioritized by performance metric will be redirected in sequence order."
1,2026/11/{day} {clock},{paserial},THREAT,url,{pacfg},{fgsrc},{fgdst},{panat},{panat},{parule},{pauser},,{paapp},vsys1,{pazone},{pazone},{paintf},{paintf},{int},1,{port},{fgport},{paport},{paport},0x{pahex},tcp,{paurl},"{fghost}{fgurl}",(9999),{pacat},informational,client-to-server,{paloc},{paloc},0,{pactype},0
1,2026/11/{day} {clock},{paserial},THREAT,{pathreat},{pacfg},{ip},{fgsrc},{panat},{panat},{parule},,{pauser},{paapp},vsys1,{pazone},{pazone},{paintf},{paintf},{int},1,{port},{fgport},{paport},{paport},0x{pahex},tcp,{pathreatact},"{fgfile}",{fgattack}({int}),{pacat},{fgrisk},{padirection},{paloc},{paloc},0,,0
1,2026/11/{day} {clock},{paserial},SYSTEM,globalprotect,0,,globalprotectgateway-auth-succ,GP-Gateway-N,0,0,general,informational,"GlobalProtect gateway user authentication succeeded. Login from: {ip}, User name: {fguser}, Auth type: profile, Client OS version: {paclient}.",{big},0x0,0,0,0,0,,{padev}
1,2026/11/{day} {clock},{paserial},SYSTEM,vpn,0,,ike-nego-p2-succ,{fgvpn},0,0,general,informational,"IKE phase-2 negotiation is succeeded as {fginit2}, quick mode. Established SA: {fgwan}[500]-{ip}[500] message id:0x{hex8}, SPI:0x{hex8}/0x{hex8}.",{big},0x0,0,0,0,0,,{padev}
1,2026/11/{day} {clock},{paserial},CONFIG,0,0,{fgsrc},,{paconfig},{fgadmin},{paclient2},{paresult},{papath},{int},0x0,0,0,0,0,,{padev}
1,2026/11/{day} {clock},{paserial},HIPMATCH,0,{pacfg},{pauser},vsys1,{fgclient},{paos},{fgsrc},{pahip},1,profile,0,0,{big},0x0,{digit},{digit},0,0,,{padev}
"""

DOMAIN = r"""
5158 The Windows Filtering Platform has permitted a bind to a local port.    Application Information:   Process ID:  {pid}   Application Name: {wsdevice}    Network Information:   Source Address:  {wsany}   Source Port:  {port}   Protocol:  {wsproto}    Filter Information:   Filter Run-Time ID: 0   Layer Name:  Resource Assignment   Layer Run-Time ID: {wslayerid}
4634 An account was logged off.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Logon Type:   {wstype}    This event is generated when a logon session is destroyed.
4658 The handle to an object was closed.    Subject :   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Object:   Object Server:  Security   Handle ID:  0x{wshex}    Process Information:   Process ID:  0x{wshex}   Process Name:  {wsexe2}
5156 The Windows Filtering Platform has permitted a connection.    Application Information:   Process ID:  {pid}   Application Name: {wsdevice}    Network Information:   Direction:  {wsdir}   Source Address:  {wsip2}   Source Port:  {port}   Destination Address: {wsip2}   Destination Port:  {wsdport}   Protocol:  {wsproto}    Filter Information:   Filter Run-Time ID: {int}   Layer Name:  {wslayer}   Layer Run-Time ID: {wslayerid}
4776 The computer attempted to validate the credentials for an account.    Authentication Package: MICROSOFT_AUTHENTICATION_PACKAGE_V1_0   Logon Account: {wsaccount3}   Source Workstation: {wshost}   Error Code: {wsstatus}
4672 Special privileges assigned to new logon.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Privileges:  {wsprivs}
4689 A process has exited.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Process Information:   Process ID: 0x{wshex}   Process Name: {wsexe2}   Exit Status: {wsexit}
4688 A new process has been created.    Creator Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Target Subject:   Security ID:  S-1-0-0   Account Name:  -   Account Domain:  -   Logon ID:  0x0    Process Information:   New Process ID:  0x{wshex}   New Process Name: {wsexe2}   Token Elevation Type: %%{wstoken}   Mandatory Label:  {wslabel}   Creator Process ID: 0x{wshex}   Creator Process Name: {wsexe2}   Process Command Line: {wscmd}
4647 User initiated logoff:    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    This event is generated when a logoff is initiated. No further user-initiated activity can occur. This event can be interpreted as a logoff event.
4624 An account was successfully logged on.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Logon Information:   Logon Type:  {wstype}   Restricted Admin Mode: -   Virtual Account:  No   Elevated Token:  {wsyes}    Impersonation Level:  {wsimp}    New Logon:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}   Linked Logon ID:  0x0   Network Account Name: -   Network Account Domain: -   Logon GUID:  {{wsguid}}    Process Information:   Process ID:  {wspid}   Process Name:  {wsexe}    Network Information:   Workstation Name: {wshost}   Source Network Address: {wsip}   Source Port:  {wsport}    Detailed Authentication Information:   Logon Process:  {wsproc}     Authentication Package: {wspackage}   Transited Services: -   Package Name (NTLM only): {wsntlm}   Key Length:  {wskey}
4769 A Kerberos service ticket was requested.    Account Information:   Account Name:  {wsaccount3}@{wsrealm}   Account Domain:  {wsrealm}   Logon GUID:  {{wsguid}}    Service Information:   Service Name:  {wsservice}   Service ID:  {wssid}    Network Information:   Client Address:  {wskrbip}   Client Port:  {wsport}    Additional Information:   Ticket Options:  {wsticket}   Ticket Encryption Type: {wsenc}   Failure Code:  {wskrb}   Transited Services: -
4768 A Kerberos authentication ticket (TGT) was requested.    Account Information:   Account Name:  {wsaccount3}   Supplied Realm Name: {wsrealm}   User ID:   {wssid}    Service Information:   Service Name:  krbtgt   Service ID:  {wssid}    Network Information:   Client Address:  {wskrbip}   Client Port:  {wsport}    Additional Information:   Ticket Options:  {wsticket}   Result Code:  {wskrb}   Ticket Encryption Type: {wsenc}   Pre-Authentication Type: {wspre}    Certificate Information:   Certificate Issuer Name:  {wscert}   Certificate Serial Number: {wscertno}   Certificate Thumbprint:  {wscertno}
4740 A user account was locked out.    Subject:   Security ID:  S-1-5-18   Account Name:  {wsdc}$   Account Domain:  {wsdomain}   Logon ID:  0x3E7    Account That Was Locked Out:   Security ID:  {wssid}   Account Name:  {wsuser}    Additional Information:   Caller Computer Name: {wshost}
4625 An account failed to log on.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Logon Type:   {wstype}    Account For Which Logon Failed:   Security ID:  S-1-0-0   Account Name:  {wsaccount3}   Account Domain:  {wsdomain}    Failure Information:   Failure Reason:  {wsfail}   Status:   {wsstatus}   Sub Status:  {wsstatus}    Process Information:   Caller Process ID: {wspid}   Caller Process Name: {wsexe}    Network Information:   Workstation Name: {wshost}   Source Network Address: {wsip}   Source Port:  {wsport}    Detailed Authentication Information:   Logon Process:  {wsproc}     Authentication Package: {wspackage}   Transited Services: -   Package Name (NTLM only): {wsntlm}   Key Length:  {wskey}
4648 A logon was attempted using explicit credentials.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}   Logon GUID:  {{wsguid}}    Account Whose Credentials Were Used:   Account Name:  {wsaccount3}   Account Domain:  {wsdomain}   Logon GUID:  {{wsguid}}    Target Server:   Target Server Name: {wstarget}   Additional Information: {wstarget}    Process Information:   Process ID:  {wspid}   Process Name:  {wsexe}    Network Information:   Network Address: {wsip}   Port:   {wsport}
5157 The Windows Filtering Platform has blocked a connection.    Application Information:   Process ID:  {pid}   Application Name: {wsdevice}    Network Information:   Direction:  {wsdir}   Source Address:  {wsip2}   Source Port:  {port}   Destination Address: {wsip2}   Destination Port:  {wsdport}   Protocol:  {wsproto}    Filter Information:   Filter Run-Time ID: {int}   Layer Name:  {wslayer}   Layer Run-Time ID: {wslayerid}
5140 A network share object was accessed.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Network Information:   Object Type:  File   Source Address:  {wsip}   Source Port:  {wsport}    Share Information:   Share Name:  {wsshare}   Share Path:  {wssharepath}    Access Request Information:   Access Mask:  0x1   Accesses:  ReadData (or ListDirectory)
5145 A network share object was checked to see whether client can be granted desired access.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Network Information:   Object Type:  File   Source Address:  {wsip}   Source Port:  {wsport}    Share Information:   Share Name:  {wsshare}   Share Path:  {wssharepath}   Relative Target Name: {wsrelative}    Access Request Information:   Access Mask:  {wsmask}   Accesses:  {wsaccesses}    Access Check Results:   {wscheck}
4663 An attempt was made to access an object.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Object:   Object Server:  Security   Object Type:  {wsobjtype}   Object Name:  {wsfile}   Handle ID:  0x{wshex}   Resource Attributes: {wsattrs}    Process Information:   Process ID:  0x{wshex}   Process Name:  {wsexe2}    Access Request Information:   Accesses:  {wsaccesses}   Access Mask:  {wsmask}
4656 A handle to an object was requested.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Object:   Object Server:  Security   Object Type:  {wsobjtype}   Object Name:  {wsfile}   Handle ID:  0x{wshex}   Resource Attributes: {wsattrs}    Process Information:   Process ID:  0x{wshex}   Process Name:  {wsexe2}    Access Request Information:   Transaction ID:  {00000000-0000-0000-0000-000000000000}   Accesses:  {wsaccesses}   Access Reasons:  -   Access Mask:  {wsmask}   Privileges Used for Access Check: -   Restricted SID Count: 0
4771 Kerberos pre-authentication failed.    Account Information:   Security ID:  {wssid}   Account Name:  {wsaccount3}    Service Information:   Service Name:  krbtgt/{wsrealm}    Network Information:   Client Address:  {wskrbip}   Client Port:  {wsport}    Additional Information:   Ticket Options:  {wsticket}   Failure Code:  {wskrb2}   Pre-Authentication Type: {wspre}    Certificate Information:   Certificate Issuer Name:     Certificate Serial Number:     Certificate Thumbprint:
4770 A Kerberos service ticket was renewed.    Account Information:   Account Name:  {wsaccount3}@{wsrealm}   Account Domain:  {wsrealm}    Service Information:   Service Name:  {wsservice}   Service ID:  {wssid}    Network Information:   Client Address:  {wskrbip}   Client Port:  {wsport}    Additional Information:   Ticket Options:  {wsticket}   Ticket Encryption Type: {wsenc}
4673 A privileged service was called.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Service:   Server: {wssrv}   Service Name: {wssrv2}    Process:   Process ID: 0x{wshex}   Process Name: {wsexe2}    Service Request Information:   Privileges:  {wspriv}
4703 A user right was adjusted.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Target Account:   Security ID:  S-1-0-0   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Process Information:   Process ID:  0x{wshex}   Process Name:  {wsexe2}    Enabled Privileges:   {wsprivs}    Disabled Privileges:   {wsprivs2}
4798 A user's local group membership was enumerated.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    User:   Security ID:  {wssid}   Account Name:  {wslocal}   Account Domain:  {wshost}    Process Information:   Process ID:  0x{wshex}   Process Name:  {wsexe2}
4799 A security-enabled local group membership was enumerated.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Group:   Security ID:  S-1-5-32-{wsrid}   Group Name:  {wsgroup}   Group Domain:  Builtin    Process Information:   Process ID:  0x{wshex}   Process Name:  {wsexe2}
4767 A user account was unlocked.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Target Account:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}
4720 A user account was created.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    New Account:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}    Attributes:   SAM Account Name: {wsuser}   Display Name:  {wsdisplay}   User Principal Name: {wsuser}@{wsrealm2}   Home Directory:  -   Home Drive:  -   Script Path:  {wsscript}   Profile Path:  -   User Workstations: -   Password Last Set: <never>   Account Expires:  <never>   Primary Group ID: 513   Allowed To Delegate To: -   Old UAC Value:  0x0   New UAC Value:  0x15   User Account Control:    Account Disabled    'Password Not Required' - Enabled    'Normal Account' - Enabled   User Parameters: -   SID History:  -   Logon Hours:  <value not set>    Additional Information:   Privileges  -
4722 A user account was enabled.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Target Account:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}
4725 A user account was disabled.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Target Account:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}
4724 An attempt was made to reset an account's password.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Target Account:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}
4726 A user account was deleted.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Target Account:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}    Additional Information:   Privileges -
4728 A member was added to a security-enabled global group.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Member:   Security ID:  {wssid}   Account Name:  {wsdn}    Group:   Security ID:  {wssid}   Group Name:  {wsgroup2}   Group Domain:  {wsdomain}    Additional Information:   Privileges:  -[[   Expiration time:  (null)]]
4729 A member was removed from a security-enabled global group.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Member:   Security ID:  {wssid}   Account Name:  {wsdn}    Group:   Security ID:  {wssid}   Group Name:  {wsgroup2}   Group Domain:  {wsdomain}    Additional Information:   Privileges:  -
4732 A member was added to a security-enabled local group.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Member:   Security ID:  {wssid}   Account Name:  {wsdn}    Group:   Security ID:  S-1-5-32-{wsrid}   Group Name:  {wsgroup}   Group Domain:  Builtin    Additional Information:   Privileges:  -[[   Expiration time:  (null)]]
5136 A directory service object was modified.      Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Directory Service:   Name: {wsrealm2}   Type: Active Directory Domain Services     Object:   DN: {wsdn2}   GUID: {{uuid}}   Class: {wsclass}     Attribute:   LDAP Display Name: {wsattr}   Syntax (OID): 2.5.5.{small2}   Value: {wsvalue}     Operation:   Type: {wsop}   Correlation ID: {{uuid}}   Application Correlation ID: -
4662 An operation was performed on an object.    Subject :   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Object:   Object Server:  DS   Object Type:  {wsobj}   Object Name:  {wsobj2}   Handle ID:  0x0    Operation:   Operation Type:  Object Access   Accesses:  {wsaccess2}   Access Mask:  {wsmask}   Properties:  {wsprops}    Additional Information:   Parameter 1:  -   Parameter 2:
4697 A service was installed in the system.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Service Information:   Service Name:   {wssvc}   Service File Name: {wssvcfile}   Service Type:   {wssvctype}   Service Start Type: {digit}   Service Account:   {wssvcacc}
4698 A scheduled task was created.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Task Information:   Task Name:   {wstask}   Task Content:   <?xml version="1.0" encoding="UTF-16"?> <Task version="1.{digit}" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">   {wsxml} </Task>
4702 A scheduled task was updated.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Task Information:   Task Name:   {wstask}   Task New Content:   <?xml version="1.0" encoding="UTF-16"?> <Task version="1.{digit}" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">   {wsxml} </Task>
4907 Auditing settings on object were changed.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Object:   Object Server: Security   Object Type: {wsobjtype}   Object Name: {wsfile}   Handle ID: 0x{wshex}    Process Information:   Process ID: 0x{wshex}   Process Name: {wsexe2}    Auditing Settings:   Original Security Descriptor: {wssddl}   New Security Descriptor:  S:ARAI(AU;SAFA;DCLCRPCRSDWDWO;;;WD)
4616 The system time was changed.    Subject:   Security ID:  S-1-5-19   Account Name:  LOCAL SERVICE   Account Domain:  NT AUTHORITY   Logon ID:  0x3E5    Process Information:   Process ID: 0x{wshex}   Name:  C:\Windows\System32\svchost.exe    Previous Time:  2026-11-{day}T{clock}.{three}{four}00Z    New Time:  2026-11-{day}T{clock}.{three}{four}00Z    This event is generated when the system time is changed. It is normal for the Windows Time Service, which runs with System privilege, to change the system time on a regular basis. Other system time changes may be indicative of attempts to tamper with the computer.
4719 System audit policy was changed.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Audit Policy Change:   Category:  {wscat}   Subcategory:  {wssubcat}   Subcategory GUID: {{uuid}}   Changes:  {wschanges}
1102 The audit log was cleared.   Subject:   Security ID: {wssid}   Account Name: {wsuser}   Domain Name: {wsdomain}   Logon ID: {wslogon}
4778 A session was reconnected to a Window Station.    Subject:   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Session:   Session Name:  RDP-Tcp#{count}    Additional Information:   Client Name:  {wshost}   Client Address:  {wsip}    This event is generated when a user reconnects to an existing Terminal Services session, or when a user switches to an existing desktop using Fast User Switching.
4779 A session was disconnected from a Window Station.    Subject:   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Session:   Session Name:  RDP-Tcp#{count}    Additional Information:   Client Name:  {wshost}   Client Address:  {wsip}    This event is generated when a user disconnects from an existing Terminal Services session, or when a user switches away from an existing desktop using Fast User Switching.
4800 The workstation was locked.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}   Session ID: {digit}
4801 The workstation was unlocked.    Subject:   Security ID:  {wssid}   Account Name:  {wsuser}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}   Session ID: {digit}
5058 Key file operation.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Cryptographic Parameters:   Provider Name: Microsoft Software Key Storage Provider   Algorithm Name: {wsalg}   Key Name: {wskeyname}   Key Type: {wskeytype}    Key File Operation Information:   File Path: C:\ProgramData\Microsoft\Crypto\{wscrypto}\{hex16}{hex16}_{uuid}   Operation: {wskeyop}   Return Code: 0x0
5061 Cryptographic operation.    Subject:   Security ID:  {wssid}   Account Name:  {wsaccount}   Account Domain:  {wsdomain}   Logon ID:  {wslogon}    Cryptographic Parameters:   Provider Name: Microsoft Software Key Storage Provider   Algorithm Name: {wsalg}   Key Name: {wskeyname}   Key Type: {wskeytype}    Cryptographic Operation:   Operation: {wskeyop2}   Return Code: {wsreturn}
4608 Windows is starting up.    This event is logged when LSASS.EXE starts and the auditing subsystem is initialized.
4946 A change was made to the Windows Firewall exception list. A rule was added.    Profile Changed: {wsprofile}    Added Rule:   Rule ID: {{uuid}}   Rule Name: {wsrule}
6416 A new external device was recognized by the System.    Subject:   Security ID:  S-1-5-18   Account Name:  {wshost}$   Account Domain:  {wsdomain}   Logon ID:  0x3E7    Device ID: {wsusb}    Device Name: {wsusbname}    Class ID:  {{uuid}}    Class Name: {wsusbclass}    Vendor IDs: {wsusb}    Compatible IDs:      Location Information: {wslocation}
"""

RELAY = r"""
 INFO {rsthread} inbound:accept{client.addr={ip}:{port}}: linkerd_app_core::serve: Connection closed error={rserr} client.addr={ip}:{port} server.addr={ip}:{rsport}
 INFO {rsthread} outbound:proxy{addr={rssvc}:{rsport}}:forward{addr={ip}:{rsport}}: linkerd_reconnect: Failed to connect error={rserr}
 WARN {rsthread} outbound:proxy{addr={rssvc}:{rsport}}:balance{addr={rssvc}:{rsport}}:endpoint{addr={ip}:{rsport}}: linkerd_reconnect: Service failed error=channel closed
 WARN {rsthread} outbound:proxy{addr={rssvc}:{rsport}}: linkerd_stack::failfast: Service entering failfast after {rssec}s
 INFO {rsthread} outbound:proxy{addr={rssvc}:{rsport}}: linkerd_stack::failfast: Service has recovered
 WARN {rsthread} inbound:server{port={rsport}}: linkerd_app_inbound::policy::tcp: Unauthorized connection server.group={rsgroup} server.kind={rskind} server.name={rsname} tls={rstls}
 INFO {rsthread} inbound:server{port={rsport}}:rescue{client.addr={ip}:{port}}: linkerd_app_core::errors::respond: HTTP/{rshttp} request failed error={rserr2}
DEBUG {rsthread} identity:controller{addr={rsctl}:8080}: linkerd_proxy_identity_client: Certified expiry=2026-11-{day}T{clock}Z
 INFO vector::topology::running: Running healthchecks.
 INFO vector::topology::builder: Healthcheck passed.
ERROR vector::topology::builder: msg="Healthcheck failed." error={rserr3} component_kind="sink" component_type="{rssinktype}" component_id={rssink}
 WARN sink{component_kind="sink" component_id={rssink} component_type={rssinktype}}:request{request_id={int}}: vector::sinks::util::retries: Retrying after {rsretry}. {rsretryfield} internal_log_rate_limit=true
 WARN sink{component_kind="sink" component_id={rssink} component_type={rssinktype}}: vector::sinks::util::retries: Internal log [Retrying after {rsretry}.] is being suppressed to avoid flooding.
 WARN sink{component_kind="sink" component_id={rssink} component_type={rssinktype}}: vector::sinks::util::retries: Internal log [Retrying after {rsretry}.] has been suppressed {count} times.
ERROR sink{component_kind="sink" component_id={rssink} component_type={rssinktype}}:request{request_id={int}}: vector_common::internal_event::component_events_dropped: Events dropped intentional=false count={int} reason="{rsdrop}" internal_log_rate_limit=true
 INFO source{component_kind="source" component_id={rssource} component_type=file}:file_server: vector::internal_events::file::source: Found new file to watch. file={rsfile}
 INFO source{component_kind="source" component_id={rssource} component_type=file}:file_server: vector::internal_events::file::source: Resuming to watch file. file={rsfile} file_position={big}
 INFO source{component_kind="source" component_id={rssource} component_type=file}:file_server: vector::internal_events::file::source: Stopped watching file. file={rsfile} reached_eof="{truefalse2}"
 WARN source{component_kind="source" component_id={rssource} component_type=file}:file_server: vector::internal_events::file::source: Currently ignoring file too small to fingerprint. file={rsfile}
ERROR transform{component_kind="transform" component_id={rstransform} component_type=remap}: vector::internal_events::remap: Mapping failed with event. error="function call error for \"{rsvrl}\" at ({int}:{int}): {rsvrlerr}" error_type="conversion_failed" stage="processing" internal_log_rate_limit=true
 INFO source{component_kind="source" component_id={rssource} component_type=kubernetes_logs}: vector::sources::kubernetes_logs: Obtained Kubernetes Node name to collect logs for (self). self_node_name="{cdnode}"
ERROR source{component_kind="source" component_id={rssource} component_type=kubernetes_logs}:file_server: vector::internal_events::kubernetes_logs: Failed to annotate event with pod metadata. event={rsevent} error_code="annotation_failed" error_type="reader_failed" stage="processing" internal_log_rate_limit=true
 WARN kube_client::client: {rskube}
 INFO vector::app: Loading configs. paths=["{rsconfig}"]
 INFO vector: Vector has started. debug="false" version="{version}" arch="{rsarch}" revision="{hex7} 2026-{rsdate}"
 INFO vector::signal: Signal received. signal="{rssignal}"
 INFO vector: Vector has stopped.
 INFO vector::shutdown: Shutting down... Waiting on running components. remaining_components="{rscomponents}" time_remaining="{count} seconds left"
 INFO request{method={rsverb} uri={rsuri} version={rsversion}}: tower_http::trace::on_response: finished processing request latency={rslatency} status={rsstatus}
ERROR request{method={rsverb} uri={rsuri} version={rsversion}}: tower_http::trace::on_failure: response failed classification=Status code: {rsstatus5} latency={rslatency}
DEBUG request{method={rsverb} uri={rsuri} version={rsversion}}: tower_http::trace::on_request: started processing request
 INFO http{trace_id={hex16}{hex16} method={rsverb} route={rsroute}}:handler{user_id={rsuserid}}: relay::api: order accepted order_id={rsorder} items={small2} total_cents={int}[[ coupon="{rscoupon}"]]
 WARN http{trace_id={hex16}{hex16} method={rsverb} route={rsroute}}: relay::api: request body rejected error={rsjson}
 WARN sqlx::query: slow statement: execution time exceeded alert threshold summary="{rssql}" db.statement="\n\n{rssql}\n" rows_affected={int} rows_returned={int} elapsed={rselapsed} elapsed_secs={rssecs} slow_threshold=1s
DEBUG sqlx::query: summary="{rssql}" db.statement="" rows_affected={int} rows_returned={int} elapsed={rselapsed} elapsed_secs={rssecs}
ERROR relay::worker: job failed job.id={uuid} job.kind="{rsjob}" attempt={digit} max_attempts=5 error={rserr3}[[ next_run=2026-11-{day}T{clock}Z]]
 INFO worker{id={small}}: relay::worker: job finished job.id={uuid} job.kind="{rsjob}" elapsed_ms={int}
 INFO worker{id={small}}: relay::worker: no work, going to sleep for={rssleep}
TRACE worker{id={small}}: relay::worker: heartbeat sent seq={int}
 WARN relay::limits: rate limit exceeded key={rslimit} limit={rsquota} retry_after={count}
 INFO relay::config: configuration reloaded path={rsconfig} changed=[{rskeys}]
 INFO rdkafka::client: librdkafka: FAIL [thrd:{kfhost}:9092/{kfid}]: {kfhost}:9092/{kfid}: {rskafka} (after {int}ms in state {rskstate})
ERROR rdkafka::client: librdkafka: Global error: {rsglobal} (Local: {rsglobal}): {kfhost}:9092/{kfid}: {rskafka}
DEBUG hyper_util::client::legacy::connect::http: connected to {ip}:{rsport}
DEBUG hyper_util::client::legacy::pool: pooling idle connection for ("{rsscheme}", {rssvc}:{rsport})
DEBUG hyper_util::client::legacy::pool: reuse idle connection for ("{rsscheme}", {rssvc}:{rsport})
DEBUG rustls::client::hs: Using ciphersuite TLS13_{rscipher}
DEBUG h2::codec::framed_read: received frame=Headers { stream_id: StreamId({int}), flags: (0x{digit}: {rsflags}) }
DEBUG h2::codec::framed_write: send frame=Data { stream_id: StreamId({int})[[, flags: (0x1: END_STREAM)]] }
DEBUG Connection{peer={rspeer}}: h2::proto::connection: Connection::poll; connection error error=GoAway(b"{rsgoaway}", {rsgoaway2}, {rsinit})
ERROR panic: thread '{rspanicthread}' panicked at {rsrust}:{int}:{small2}: {rspanic}
 INFO prober{target={rssvc}:{rsport}}: relay::health: state changed from={rsstate} to={rsstate} failures={digit}
 WARN openraft::replication: id={digit} target={digit} error=NetworkError: {rserr} RPCError when replicating
 INFO openraft::engine::engine_impl: vote is changed to <T{count}-N{digit}:{rsvote}> id={digit}
 INFO raft{id={digit} term={count}}: relay::store: snapshot installed last_log_id={int} size_bytes={big} took={rselapsed}
 WARN tonic::transport::channel: connection to {rsscheme}://{rssvc}:{rsport} lost, reconnecting attempt={digit} backoff={rselapsed}
 INFO opentelemetry_sdk: name="BatchSpanProcessor.ExportingDueToTimer"
 WARN opentelemetry_sdk: name="BatchSpanProcessor.SpanDroppingStarted" message="Beginning to drop span messages due to full exporter channel." dropped={int}
"""

TEXTS = r"""
dn|uid={user},ou=people,dc=example,dc=org|cn=admin,dc=example,dc=org||uid={user}{small},ou=staff,ou=people,dc=example,dc=org|cn={noun},ou=groups,dc=example,dc=org|cn={user} {user},ou=people,dc=example,dc=org
scope|0|1|2|2|2
deref|0|0|0|3
filter|(objectClass=*)|(uid={user})|(&(objectClass=posixAccount)(uid={user}))|(&(objectClass=posixGroup)(member=uid={user},ou=people,dc=example,dc=org))|(mail={user}@example.org)|(?=undefined)
code|0|0|0|0|0|32|49|50|53|68
seconds|0.{micro}
micro|000{two}|00{two}{two}|0{two}{two}{two}|{two}
two|{digit}{digit}
digit|0|1|2|3|4|5|6|7|8|9
reason|||||invalid credentials|no such object|unwilling to perform|Operations are restricted to bind/unbind/abandon/StartTLS/modify password
attribute|uid|cn|mail|memberUid|entryUUID|shadowLastChange|description|uidNumber
ldap|389|389|636
mechanism|SIMPLE|SIMPLE|GSSAPI|EXTERNAL|SCRAM-SHA-256
ssf|0|56|128|256
tag|97|103|105|107|109|111|120
protocol|TLSv1.2|TLSv1.3|TLS1.2
cipher|TLS_AES_256_GCM_SHA384|ECDHE-RSA-AES256-GCM-SHA384|TLS_CHACHA20_POLY1305_SHA256
oid|1.3.6.1.4.1.1466.20037|1.3.6.1.4.1.4203.1.11.1|1.3.6.1.4.1.4203.1.11.3|1.2.840.113556.1.4.319|2.16.840.1.113730.3.4.2
closing|connection lost|TLS negotiation failure|idletimeout|slapd shutdown|connection lost on write
match|equality|equality|substring|presence|inequality
rid|00{digit}
csn|202611{day}{two}{two}{two}.{two}{two}{two}Z#000000#00{digit}#000000
day|01|04|09|12|17|23|27
change|add|modify|delete|search|modrdn
syncop|LDAP_SYNC_ADD|LDAP_SYNC_MODIFY|LDAP_SYNC_DELETE|LDAP_SYNC_PRESENT
negative|-{small}|{small}|-{int}
junk|{user}|DOMAIN\{user}|uid={user};drop|{user}@example.org
deferral|binding|too many executing|pending operations|awaiting write
class2|inetOrgPerson|posixAccount|groupOfNames
date|Feb 13 2023 20:11:09|Jun 02 2024 08:44:51
interface|GigabitEthernet{digit}/0/{port2}|GigabitEthernet{digit}/0/{port2}|TenGigabitEthernet{digit}/1/{digit}|Vlan{vlan}|Port-channel{small}|Loopback0
short|Gi{digit}/0/{port2}|Gi{digit}/0/{port2}|Te{digit}/1/{digit}
updown|up|up|down|down|administratively down
vlan|1|10|20|110|120|404|{int}
console|console|memory
vty|vty{small}|console|vty0
command|interface {interface}|no shutdown|switchport access vlan {vlan}|write memory|ip route 0.0.0.0 0.0.0.0 {ip}|username {user} privilege 15 secret *|description {noun} {noun}
cmac|{hex4}.{hex4}.{hex4}
session|0A0A{hex4}0000{hex4}{hex8}
unknown|{cmac}|{cmac}|{cmac}|Unknown MAC
method|mab|dot1x|webauth
result|success|fail|timeout|no-response
blank|{user}|{user}|
denial|Login Authentication Failed|Login Authentication Failed|Server timed out|Login timeout expired
acl|101|INSIDE-IN|{noun}-acl|102
verdict|denied|denied|permitted
transport|tcp|udp
packets|1 packet|1 packet|{count} packets
cause|bpduguard|psecure-violation|link-flap|udld|loopback
ospf|FULL|LOADING|DOWN|INIT|2WAY|EXSTART
adjacency|Loading Done|Neighbor Down: Dead timer expired|Neighbor Down: Interface down or detached|Received HELLO
hsrp|Standby|Active|Speak|Listen|Init
peering|Up|Down BGP Notification sent|Down Peer closed the session|Down User reset|Down Interface flap
sentreceived|sent to|received from
bgp|hold time expired|peer in wrong AS|cease|administrative reset
dhcp|DHCPOFFER|DHCPACK|DHCPNAK
arp|Req|Res
storm|Broadcast|Multicast|Unicast
pool|Processor|I/O
malloc|Memory fragmentation|Not enough free memory
process|SNMP ENGINE|IP Input|Exec|HL2MCM|Net Background
psu|not responding|operating normally|not present|faulty
optics|Rx power low alarm|Rx power low warning|Tx power high alarm|Temperature high warning
unitword|dBm|C|mA
stack|UP|DOWN
why|Reload Command|upgrade|{noun} {noun}
track|Up -> Down|Down -> Up
device|{user}-{thing}|android-{hex16}|DESKTOP-{hex7}|printer{small}|{user}s-{thing}
thing|laptop|iPhone|iPad|Galaxy-S2{digit}|PC
lan|192.168.{small}.{octet}|10.{small}.{octet}.{octet}
octet|{digit}|{digit}{digit}|1{digit}{digit}|2{digit}
nic|eth0|eth1.{vlan2}|br-lan|ens18
vlan2|10|20|30
subnet|192.168.{small}.0/24|10.{small}.0.0/16|{noun}-net
refusal|wrong network.|lease {lan} unavailable.|unknown lease {lan}.|ignored (not authoritative).|not responding (recovering)
foundnot|found|found|not found
fqdn|{device}.{noun}.example.org
reverse|{octet}.{small}.168.192.in-addr.arpa.
decline|abandoned|not found|not found (recovering)
abandon|pinged before offer|declined.
dns|timed out|REFUSED|NOTAUTH|SERVFAIL
peer|"dhcp-{noun}"|"failover"
failover|normal|communications-interrupted|partner-down|recover|recover-done|startup
option|dhcp-client-identifier|host-name|domain-search|user-class
duid|00:01:00:01:{mac}:{mac}|00:03:00:01:{mac}
ip6|2001:db8:{hex4}::{hex4}|fd00::{hex4}:{hex4}:{hex4}
link6|fe80::{hex4}:{hex4}:{hex4}:{hex4}
reply6|Advertise|Reply|Relay-reply
errno|No such device|Network is down|Operation not permitted|Permission denied|No space left on device
player|{user}|{user}_{noun}|{noun}{count}|xX_{user}_Xx|{user}{small}|Pro_{user}
signed|{float}|-{float}|{int}.5|-{int}.{count}
signed2|{small}|-{small}|-{count}
chat|hi|anyone got {noun}?|where is {user}|lol|gg {user} :)|/home|trade {count} {noun} for {small} {noun} at {int} {int}|brb 5 min|WHO STOLE MY {noun}!!!
world|world|overworld|the_nether|the_end|world_nether
lost|Disconnected|Disconnected|Timed out|Flying is not enabled on this server|Internal Exception: java.io.IOException: Connection reset by peer|You have been idle for too long!|Kicked by an operator|Server closed|Banned: {noun}
advancement|Stone Age|Getting an Upgrade|Acquire Hardware|We Need to Go Deeper|Monster Hunter|Sweet Dreams|The End?
mob|Zombie|Skeleton|Creeper|Spider|Enderman|Cave Spider|{player}
item|Diamond Sword|Stick|Iron Axe|Cod|Netherite Pickaxe|Oak Log
gamecommand|home|tp {player}|spawn|msg {player} {chat}|gamemode creative|give {player} diamond {count}|tpa {player}
death|drowned|fell from a high place|burned to death|tried to swim in lava|hit the ground too hard|starved to death|blew up|was pricked to death
level|ServerLevel|world|Survival {small}
profile|com.mojang.authlib.GameProfile@{hex8}[id={uuid},name={player},properties={},legacy=false] (/{ipport})|{player} (/{ipport})
mode|Creative Mode|Survival Mode|Spectator Mode
plugin|Essentials|WorldEdit|Vault|LuckPerms|Dynmap
gameevent|PlayerJoinEvent|BlockBreakEvent|EntityDamageEvent
entity|Cat|Wolf|Parrot|Horse
attribute2|forge.swimSpeed|generic.luck|{noun}:{noun}
xyz|{x={signed2}, y={small}, z={signed2}}
mob2|zombie|item|experience_orb|{noun}
onoff|enabled|disabled
pkg|Package_{int}_for_{kb}~31bf3856ad364e35~{winarch}~~{winver}|Package_for_{kb}~31bf3856ad364e35~{winarch}~~{winver}|Microsoft-Windows-{wincomponent2}-Package~31bf3856ad364e35~{winarch}~~{winver}|Microsoft-Windows-{wincomponent2}-Package~31bf3856ad364e35~{winarch}~{culture}~{winver}
kb|KB{int}{three}|KB50{two}{three}
three|{digit}{digit}{digit}
six|{three}{three}
millis|{three}
culture|en-US|de-DE|fr-FR
winarch|amd64|amd64|x86|wow64
winver|10.0.19041.{int}|6.1.7601.{int}{digit}|10.0.22621.{int}|6.1.1.{small}
wincomponent|microsoft-windows-{noun}|Microsoft-Windows-{wincomponent2}|microsoft-windows-i..l-{noun}|usbport.inf
wincomponent2|IE-Troubleshooters|Client-Features|Foundation|Printing-{noun}|NetFx3-OnDemand|Media-Format|LanguageFeatures-Basic-de-de
disposition|Detect|Staged|Installed
compare|EQ|EQ|LT|GT
pkgstate|Installed|Installed|Staged|Absent|Superseded|Uninstall Pending|Permanent
pkgpending|Default|Default|Install Pending|Uninstall Pending|Installed
state3|112|112|80|0|64
session2|{big}_{big}|3{big}_{int}
winclient|WindowsUpdateAgent|WindowsUpdateAgent|SPP|DISM Package Manager Provider|TrustedInstaller|UpdateAgentLCU|wusa
external|(null)|(null)|(null)|\\?\C:\Windows\SoftwareDistribution\Download\{hex16}{hex16}
hresult|0x00000000 - S_OK|0x00000000 - S_OK|0x00000000|0x800f0805 - CBS_E_INVALID_PACKAGE|0x80070002 - ERROR_FILE_NOT_FOUND|0x800f081f - CBS_E_SOURCE_MISSING|0x80004005 - E_FAIL|Error
update|{int}-{int}_neutral_LDR|Trigger_1|{wincomponent2}|(null)
onezero|0|0|1
truefalse|True|True|False
truefalse2|true|false
sqm|all|std|{count}
winpath|C:\Windows\servicing|C:\Windows\System32|C:\Windows\WinSxS\{winarch}_{noun}_31bf3856ad364e35_{winver}_none_{hex16}|C:\ProgramData\Microsoft\{noun}|C:\Program Files (x86)\Common Files
winend|normally|normally|with error
bcd|bf1a281b-ad7b-4476-ac95-f47682990ce7}{{uuid}
hive|SOFTWARE|SYSTEM|COMPONENTS|DRIVERS|Users/default/ntuser.dat
csilen|25|26
filetime|30{big}|133{big}{three}
winfile|{noun}.dll|{noun}.inf|settings.dat|utc.app.json|{noun} {noun}.lnk
winpa|INTEL|AMD64
verscope|file cannot be checked|file is missing|file is present
mismatch|hash mismatch|file is missing|no backup available|hash mismatch
refs|refs: {small}|cleared
winlogon|Registering for CreateSession notifications|Loading SysNotify DLL|Simplifying Winlogon CreateSession notifications|Stopping notifications (STOPPED)
maint|begins|ended: {small} steps, {text}|ended
iso|2026-11-{day}T{clock}Z|2026-11-{day}T{clock}.{six}Z|2026-11-{day} {clock}.{six} +0000 UTC
iso2|2026-11-{day} {clock}.{three}
pod|{namespace}/{podname}
namespace|kube-system|default|monitoring|{noun}|team-{user}
podname|{noun}-{hex8}{digit}-{podtail}|{noun}-{digit}|coredns-{hex8}{digit}-{podtail}|kube-proxy-{podtail}|{noun}-{noun}-{big}-{podtail}
podtail|{letter}{letter}{digit}{letter}{letter}|{digit}{letter}{letter}{digit}{letter}
letter|b|c|d|f|g|h|j|k|l|m|n|p|q|r|s|t|v|w|x|z
pleg|ContainerStarted|ContainerStarted|ContainerDied|ContainerRemoved
exitcode|0|0|1|2|137|143|255
podop|ADD|UPDATE|DELETE|REMOVE|RECONCILE
volume|kube-api-access-{podtail}|config|{noun}-data|{noun}-tls|tmp|kube-root-ca.crt|pvc-{uuid}
volplugin|projected|configmap|secret|empty-dir|host-path|csi
k8sobject|configmap|secret|references non-existent secret key: {noun}.crt of secret
probe|Liveness|Readiness|Readiness|Startup
containers|{noun}|{noun}|{noun}-{noun}|istio-proxy|manager|init-{noun}
probeout|HTTP probe failed with statuscode: 50{digit}|Get \"http://{ip}:{port}/healthz\": dial tcp {ip}:{port}: connect: connection refused|Get \"http://{ip}:{port}/ready\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)|command timed out: \"pg_isready\" timed out after {small}s||timeout: failed to connect service \"{ip}:{port}\" within {small}s
godur|{float}s|{count}.{six}ms|{small}m{count}.{three}s|{count}ms|{int}.{six}µs|0s|{small}h{small}m{small}s
poderr|failed to \"StartContainer\" for \"{containers}\" with CrashLoopBackOff: \"back-off {small}m{small}0s restarting failed container={containers} pod={podname}_{namespace}({uuid})\"|failed to \"StartContainer\" for \"{containers}\" with ImagePullBackOff: \"Back-off pulling image \\\"{image}\\\"\"|[failed to \"KillContainer\" for \"{containers}\" with KillContainerError: \"rpc error: code = {grpc} desc = {grpcdesc}\", failed to \"KillPodSandbox\" for \"{uuid}\"]|network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized
image|registry.example.org/{noun}:{version}|{noun}:latest|ghcr.io/{user}/{noun}@sha256:{sha64}|{host}/{noun}/{noun}:v{version}
memory|memory|memory|cpu
grpc|NotFound|Unknown|DeadlineExceeded|Unavailable
grpcdesc|an error occurred when try to find container \"{sha64}\": not found|failed to pull and unpack image \"{image}\": failed to resolve reference: {neterr}|context deadline exceeded|failed to reserve sandbox name \"{podname}_{namespace}_{uuid}_{digit}\": name is reserved for \"{sha64}\"
grace|30|30|0|{count}
nameservers|{ip} {ip} {ip}|{ip} {ip6} {ip}
nodeevent|NodeHasSufficientMemory|NodeHasNoDiskPressure|NodeHasSufficientPID|NodeReady|NodeNotReady
notready|KubeletNotReady
notreadymsg|container runtime is down|PLEG is not healthy: pleg was last seen active {godur} ago; threshold is 3m0s|[container runtime is down, {text}]
neterr|dial tcp {ip}:6443: connect: connection refused|net/http: request canceled (Client.Timeout exceeded while awaiting headers)|context deadline exceeded|EOF|dial tcp: lookup {host} on {ip}:53: no such host|dial tcp {ip}:6443: i/o timeout
gcerr|failed to get imageFs info: unable to find data in memory cache|invalid capacity 0 on image filesystem
evictable|memory|ephemeral-storage|nodefs|inodes
skiperrs|container runtime is down|container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful|PLEG is not healthy: pleg was last seen active {godur} ago; threshold is 3m0s
k8skind|ConfigMap|Secret|Service|Node|RuntimeClass
cgroup|[kubepods {qos} pod{uuid}]|[kubepods pod{uuid}]
qos|burstable|besteffort
quotederr|"{text}"|"no such file or directory"|"open {path}: permission denied"|nil
slice|/system.slice/kubelet.service|/system.slice/containerd.service|/kubepods.slice|/user.slice/user-{int}.slice
phase|Running|Running|Pending|Succeeded|Failed
podips|{"ip":"{ip}"}|{"ip":"{ip}"},{"ip":"{ip6}"}|
startjson|"2026-11-{day}T{clock}Z"|null
swapjson|{"failSwapOn":false,"swapBehavior":"{swapb}"}|null
swapb|NoSwap|LimitedSwap|
gomax||4|{count}
onoff3|on|on|off
cpupolicy|none|static
cpuset||0|0-{digit}|0-{small},{count}
affinity|null|{digit}|3
kubeflag|container-runtime-endpoint|pod-infra-container-image|register-with-taints|cgroup-driver
tlserr|EOF|remote error: tls: bad certificate|no serving certificate available for the kubelet|read tcp {ip}:10250->{ipport}: read: connection reset by peer
reflecterr|<nil>|<nil>|configmaps \"{noun}\" is forbidden: User \"system:node:{node}\" cannot list resource \"configmaps\" in API group \"\" in the namespace \"{namespace}\"
devices2|nvidia.com/gpu|example.org/{noun}|vendor.example.net/{noun}-{digit}
unixsignal|terminated|killed|interrupt
thread|main|main|http-nio-8080-exec-{count}|http-nio-8080-exec-{count}|http-nio-8080-exec-{count}|scheduling-{digit}|quartzScheduler_Worker-{small}|pool-{small}-thread-{count}|HikariPool-1 housekeeper|Catalina-utility-{digit}|DefaultQuartzScheduler_MisfireHandler|ActiveMQ Session Task-{int}|localhost-startStop-1|ForkJoinPool.commonPool-worker-{count}|async-{noun}-{small}
war|/srv/tomcat/webapps/{noun}.war|/srv/tomcat/webapps/ROOT.war|/srv/tomcat/webapps/{noun}##{small}.war
grouped|{count}|{int}|{small},{three}|{count},{three}
context||/{noun}|/{noun}/v{digit}
contextpath||/{noun}|/{noun}/v{digit}
contextname|ROOT|{noun}|{noun}#v{digit}
startdone|started|completed
javadur|{count}s{three}ms|{digit}m{count}s{three}ms{three}µs|{digit}h{small}m{count}s{three}ms
httpstatus|200 OK|200 OK|404 NOT_FOUND|201 CREATED|500 INTERNAL_SERVER_ERROR|302 FOUND|400 BAD_REQUEST|204 NO_CONTENT
masked|{masked}|{Content-Type=[application/json], Content-Length=[{int}]}
verb|GET|GET|GET|POST|PUT|DELETE|PATCH
uri|/{noun}/{int}|/{noun}|/api/v{digit}/{noun}/{uuid}|/{noun}?page={small}&size={count}|/error|/
parameters|{}|{}|{masked}|{page=[{small}], q=[{noun} {noun}]}|{id=[{int}]}
method2|find{entity2}|list|save|delete{entity2}ById|update|handleError|get
entity2|User|Invoice|Report|Basket
javatypes||Long|String, Pageable|HttpServletRequest|UUID, Map<String, Object>|{entity2}Request, BindingResult, Principal
exceptiontext|org.springframework.web.HttpRequestMethodNotSupportedException: Request method '{verb}' is not supported|{class}NotFoundException: {entity2} {int} not found|org.springframework.web.bind.MethodArgumentNotValidException: Validation failed for argument [{digit}] in public {class} {class}Controller.{method2}({javatypes}): [Field error in object '{noun}' on field '{attributecol}': rejected value [{nullmessage}]]|java.lang.IllegalArgumentException: {nullmessage}
servlet|dispatcherServlet|jsp|default|{noun}Servlet
nested|Request processing failed: {class}Exception: {nullmessage}|Handler dispatch failed: java.lang.{javaerror}|java.lang.NullPointerException: Cannot invoke "{entity2}.getId()" because "{noun}" is null
javaerror|StackOverflowError|OutOfMemoryError: Java heap space|NoClassDefFoundError: {noun}/{entity2}
sql|select {attributecol} from {noun} where id = ?|insert into {noun} ({attributecol}, {attributecol}) values (?, ?)|update {noun} set {attributecol} = ?, version = ? where id = ? and version = ?|select count(*) from {noun} where {attributecol} in (?, ?, ?)|call next value for {noun}_seq|delete from {noun}
attributecol|name|email|created_at|owner_id|status|total
springattributes||'{noun}' -> {truefalse2}|'{class}.mode' -> [null], '{noun}' -> {int}
txattributes|PROPAGATION_REQUIRED,ISOLATION_DEFAULT|PROPAGATION_REQUIRED,ISOLATION_DEFAULT,readOnly|PROPAGATION_REQUIRES_NEW,ISOLATION_DEFAULT,timeout_{count},-{class}Exception
sqlstate|23505|40001|08006|null|42P01
principal|{user}|{user}@example.org|{user}.{user}|anonymousUser|EXAMPLE\{user}|
roles||ROLE_USER|ROLE_USER|ROLE_USER, ROLE_ADMIN|ROLE_{noun}, ROLE_USER, SCOPE_{noun}.read
denied2|Bad credentials|Bad credentials|User account is locked|User is disabled|Credentials have expired since 2026-10-{day}
hexupper|{upper}{upper}{upper}{upper}{upper}{upper}{upper}{upper}{upper}{upper}{upper}{upper}
upper|A{digit}|{digit}F|C{digit}|{digit}{digit}|EB|D{digit}
jvmroute|node{small}|jvm{small}
jmsid|ID:{host}-{port}-{big}{three}-{digit}:{digit}:{count}:{small}:{count}
queue|{noun}|{noun}.in|{noun}.{noun}.out|orders
ioerror|java.net.SocketException: Connection reset|java.io.EOFException|java.net.ConnectException: Connection refused (Connection refused)|org.apache.activemq.transport.InactivityIOException: Channel was inactive for too (>{int}) long: tcp://{ipport}
cache|{noun}|{noun}ById|{class}|query.{noun}
ratio|0.{two}|1.0|NaN|0.{digit}
quartzgroup|DEFAULT|DEFAULT|{noun}|nightly
quartzjob|{noun}Job|cleanup|import-{small}
nextfire|2026-11-{day}T{clock}.000+0000|null|Fri Nov {day} {clock} UTC 2026
jgroup|{host}-{int}|node{small}/{noun}|{noun}-{small}
sign|,|:
profiles|"{noun}"|"prod", "metrics"|"dev"
protocolhandler|http-nio-8080|https-openssl-nio-8443|ajp-nio-127.0.0.1-8009|http-bio-{port}
engine|Apache Tomcat/9.0.{count}|Apache Tomcat/10.1.{count}
bean|{noun}Service|org.springframework.{noun}.{entity2}Configuration|dataSource|diskSpace|{noun}Repository|clamav
beandef|Generic bean: class [{class}]; scope={beanscope}; abstract=false|Root bean: class [null]; scope={beanscope}; factoryBeanName={noun}Config; factoryMethodName={noun}
beanscope||singleton|prototype
property|catalina.home|java.io.tmpdir|spring.profiles.active|{noun}.{noun}.enabled|log4j2.formatMsgNoLookups
propvalue|{path}|{truefalse2}||{noun}|{int}
javastart|Starting|Started
javaversion|17.0.{count}|21.0.{digit}|1.8.0_{three}
health|UP|UP|DOWN|OUT_OF_SERVICE|UNKNOWN
details|{error={class}Exception: {nullmessage}}|{total={big}, free={big}, threshold={big}, exists={truefalse2}}|{database=PostgreSQL, validationQuery=isValid()}
wlsstate|STARTING|STANDBY|ADMIN|RUNNING|SUSPENDING|SHUTTING_DOWN
wlsrequest|weblogic.servlet.internal.ServletRequestImpl@{hex8}[{verb} {uri} HTTP/1.1]|weblogic.work.SelfTuningWorkManagerImpl$WorkAdapterImpl@{hex8}
junkmethod|0x160x030x010x02{two}|{junk}|OPTIONS{hex8}
recipients|{user}@example.org|{user}@example.org, {user}@{host}|[{user}@example.org]
subject|Your {noun} {int}|{noun} is ready|Re: {noun} {noun}||Password reset
nullmessage|null|null|{text}|{noun} must not be empty|For input string: "{noun}"
resultcount|1 entry|{count} entries|no entries
poolstate|active={small}, queued={int}, completed={int}|shut down|size raised to {count}
gccause|Metadata GC Threshold|Ergonomics|System.gc()|Allocation Failure
upload|{noun}.pdf|{noun} (1).docx|IMG_{int}.JPG|{user}'s {noun}.xlsx|{noun}
scan|Eicar-Test-Signature FOUND|no extension|type image/{noun} not allowed|larger than {size}
regstate|IN_SERVICE|IN_SERVICE|OUT_OF_SERVICE|EMERGENCY_ONLY|POWER_OFF
operator|null|null|Telekom.de|Vodafone UK|O2 - de|AT&T|"Orange F"
mccmnc|26201|23415|310410||null
rat|LTE|LTE|NR_NSA|UMTS|EDGE|IWLAN|Unknown
sim|0|0|1|-1
signalobject|SignalStrength:{mLte=CellSignalStrengthLte: rssi={dbm} rsrp={dbm} rsrq={dbq} rssnr={unset} cqi={unset} ta={unset} level={digit}}|SignalStrength:{mNr=CellSignalStrengthNr: ssRsrp={dbm} ssRsrq={dbq} ssSinr={unset} level={digit}, mLte=CellSignalStrengthLte: rssi={dbm} rsrp={dbm} rsrq={dbq} rssnr={unset} cqi={unset} ta={unset} level={digit}}|null
dbm|-{count}|-1{digit}{digit}|-{count}
dbq|-{small}|-{count}
unset|2147483647|2147483647|{small}|-{small}
component|{appname}/.{activity}|{appname}/{appname}.ui.{activity}|{appname}/com.google.android.gms.{noun}.{activity}
appname|com.android.systemui|com.{noun}.{noun}|com.example.{noun}|org.{noun}.android|android|com.{user}.{noun}lite
activity|MainActivity|SettingsActivity|{entity2}Service|SyncService|BootReceiver|.Launcher|ShareActivity$Inner
appms|{int}ms|{small}s{count}ms|{three}ms
appproc|{appname}|{appname}|{appname}:remote|{appname}:push|webview_zygote|com.google.android.gms.persistent
appuid|u0a{count}|u0a{three}|1000|u10a{count}
appuid2|{int}|10{three}|1000
hosting|activity|service|broadcast|content provider|top-activity|added application
adj|{int}|-800|900|906|200|0
killreason|empty #{count}|cached #{count}|remove task|stop {appname} due to installPackageLI|too many background|bg anr|depends on provider {component} in dying proc {appproc} (adj {adj})
adjname|cch+{small} CEM|fg  TOP|vis  BFGS|prcp FGS|svcb SVC|cch CRE
intent|Intent { act=android.intent.action.{intentact} cmp={component} }|Intent { act=android.intent.action.{intentact} cat=[android.intent.category.LAUNCHER] flg=0x{hex8} cmp={component} bnds=[{int},{int}][{int},{int}] }|Intent { cmp={component} (has extras) }|{act=android.intent.action.{intentact} dat=https://{host}/... flg=0x{hex8} cmp={component}}|Intent { act={appname}.{noun} pkg={appname} }
intentact|MAIN|VIEW|SEND|BOOT_COMPLETED|BATTERY_LOW|TIME_TICK|PACKAGE_ADDED
restartwhy|start-requested|connection|connection
anrreason|Input dispatching timed out ({hex7} {component} (server) is not responding. Waited {int}ms for MotionEvent(action=DOWN))|Broadcast of {intent}|executing service {component}|ContentProvider not responding
load|{count}.{two}|{small}.{digit}
agolater|ago|later
audiousage|USAGE_MEDIA|USAGE_NOTIFICATION|USAGE_VOICE_COMMUNICATION|USAGE_ALARM
audiocontent|CONTENT_TYPE_MUSIC|CONTENT_TYPE_SPEECH|CONTENT_TYPE_UNKNOWN
appclass|com.{noun}.player.{entity2}Focus$1|androidx.media3.exoplayer.AudioFocusManager$AudioFocusListener|{letter}{letter}.{letter}
sdk|28|31|33|34
stream2|STREAM_MUSIC|STREAM_RING|STREAM_VOICE_CALL|STREAM_ALARM
rate|8000|44100|48000|16000
audioformat|0x1|AUDIO_FORMAT_PCM_16_BIT|0x5
audioflags|0|0x{digit}|AUDIO_OUTPUT_FLAG_FAST|0x{digit} (NONE)
wifistate|DisconnectedState|ConnectedState|L2ConnectedState|ObtainingIpState|RoamingState|L3ConnectedState
wificmd|CMD_RSSI_POLL|NETWORK_CONNECTION_EVENT|CMD_IP_CONFIGURATION_SUCCESSFUL|screen off|{int}|CMD_START_ROAM
ssid|"{noun}"|"{user}s {thing}"|"Guest WiFi {count}"|<unknown ssid>|"FRITZ!Box {int}"|"{noun}-5G"
bssid|{mac}|{mac}|any|null
freq|2412|2437|5180|5{three}|2462
wifireason|WRONG_KEY|CONN_FAILED|AUTH_FAILED
best|none|{ssid} {mac} {dbm}
nettype|WIFI|MOBILE[LTE]|MOBILE[UMTS]|VPN|ETHERNET
netstate|null|CONNECTING|CONNECTED|DISCONNECTED|SUSPENDED
validation|passed|failed|partial|is in progress
netif|wlan0|rmnet_data{digit}|tun0|null|v4-rmnet_data0
domains|null|null|fritz.box|corp.example.org
mtu|0|1500|1440
alarmobject|Alarm{{hex7} type {digit} when {big}{three} {appname}}|Alarm{{hex7} type 0 origWhen {big}{three} whenElapsed {big} android}
window|0|-1|{int}|+{count}m{count}s{three}ms
idlestate|ACTIVE|INACTIVE|SENSING|IDLE_PENDING|IDLE|IDLE_MAINTENANCE
idlereason|s:alarm|motion|screen|charging|unlocked|{noun} {noun}
batstatus|CHARGING|DISCHARGING|FULL|NOT_CHARGING|UNKNOWN
bathealth|GOOD|GOOD|OVERHEAT|COLD
plug|none|ac|usb|wireless
batterytemp|{count}.{digit}|{count}.{digit}|-{small}.{digit}
brightness|0.{three}|1.0|{count}|-1.0|NaN
dispreason|'automatic'|'manual'|'doze'|'screen_off'|'override [ dim ]'|'automatic [ low_power ]'
onoff4|state=ON, committedState=ON|state=OFF, committedState=UNKNOWN|state=DOZE
wakewhy|POWER_BUTTON|PLUGGED_IN|APPLICATION|GESTURE|LIFT
wakedetails|android.policy:POWER|android.server.power:PLUGGED:true|{appname}:{noun}|null|com.android.systemui:NODOZE
sleepwhy|timeout|power button|application|lid switch|device administration policy
tagnull|null|null|{noun}|"{noun} {noun}"|{int}:{appname}
notification|Notification(channel={noun} shortcut=null contentView=null vibrate=null sound={sound} defaults=0x0 flags=0x{hex2} color=0x{hex8} vis={vis})|Notification(channel=miscellaneous pri={digit} contentView=null vibrate=default sound=default tick defaults=0x4 flags=0x{hex2} color=0x00000000 category=msg number={small} vis={vis} semFlags=0x0 semPriority=0)
sound|null|default|content://settings/system/notification_sound
vis|PRIVATE|PUBLIC|SECRET
apkpath|/data/app/{appname}-{digit}|/data/app/~~{hex12}==/{appname}-{hex8}==|/system/priv-app/{entity2}
permission|android.permission.CAMERA|android.permission.READ_CONTACTS|android.permission.ACCESS_FINE_LOCATION|{appname}.permission.{noun}
grantdeny|granted|revoked|granted as fixed
dexfilter|speed-profile|quicken|verify|speed
gcmb|{count}MB|{int}KB|{count}MB
gcpause|{int}us|{count}.{three}ms|{small}.{three}s
nanos|{big}{six}|{big}{six}
inputnanos|9223372036854775807|9223372036854775807|{big}{six}
injection|timed out|failed|permission denied|target mismatch
dropwhy|the pointer is not down|it has not been policy-approved|of pending overdue key gesture|the current application is not responding and the user has started interacting with a different application
sensor|accelerometer|bmi26x gyroscope|step_counter|"TMD2725 Proximity Sensor"|light (wakeup)
rateus|{int}|200000|20000
latency|0|{int}ms|inf
fingerprint|accepted|rejected|error: {count}|acquired: {digit}|lockout
ttff|{int}ms|-1|{float}s
locprovider|gps|network|fused|passive
latlon|{count}.{six}|-{count}.{six}|**.******
accuracy|{count}.{digit}|{int}|null|???
et|+{small}h{count}m{count}s{three}ms|+{small}d{small}h{count}m{count}s{three}ms|{big}
simstate|READY|ABSENT|PIN_REQUIRED|LOADED|NOT_READY|CARD_IO_ERROR
iccid|89{three}[****]|{hex16}
rilrequest|GET_CELL_INFO_LIST|SIGNAL_STRENGTH|SETUP_DATA_CALL|DEACTIVATE_DATA_CALL|GET_SIM_STATUS|DATA_REGISTRATION_STATE|OPERATOR
rilargs|{{small}, {operator}, null}|[{int}, {int}]|null|{reg: {digit}, rat: {count}}|{hex16}
rilerror|RADIO_NOT_AVAILABLE|GENERIC_FAILURE|{small}
unsol|UNSOL_SIGNAL_STRENGTH|UNSOL_RESPONSE_NETWORK_STATE_CHANGED|UNSOL_CELL_INFO_LIST|UNSOL_DATA_CALL_LIST_CHANGED
phonenumber|+49***{three}|xxxxxxx{two}|{int}|+{big}{two}
smsformat|3gpp|3gpp|3gpp2
mac2|{mac}|XX:XX:XX:XX:{hex2}:{hex2}
bond|BOND_NONE|BOND_BONDING|BOND_BONDED
lmkreason|low watermark is breached and swap is low ({int}kB < {int}kB)|device is low on swap ({int}kB < {int}kB) and thrashing ({percent}%)|min watermark is breached
ppcinterrupt|illegal instruction|privileged instruction|trap instruction|fp cr field: {digit}|imprecise exception
ciodprefix|LOGIN_MESSAGE|LOAD_MESSAGE|CHECK_INITIAL_GLOBAL_INTERRUPT_VALUES
sockerr|Link has been severed|Connection reset by peer|Connection timed out
fserr|No such file or directory|Permission denied|Input/output error|No such file or directory
fserr2|No such file or directory|Exec format error|Permission denied|not a CNK executable
rackloc|R{two}-M{digit}-N{digit}|R{two}-M{digit}-N{digit}-C:J{two}-U{two}|R{two}-M{digit}-L{digit}-U{two}-A
ciodexpect|{small} or 4294967295|{small}|{small} or {small}
mcheck|L1 dcache unit data parity error|TLB error|L2 dcache unit read return parity error|0
torusdir|x+|x-|y+|y-|z+|z-
xyzaxis|x|y|z
rtscode|{count}|{three}
rtsreason|error: {text}|tree/torus training failed: probes of the node(s) adjacent to {rackloc} timed out
rtsheader|invalid node id, expected {int}, received {int}|packet index {int} greater than max 366|expecting type {count} instead of type {small} (softheader={hex8} {hex8} {hex8} {hex8}) PSR0={hex8} PSR1={hex8} PRXF={hex8}|cpu {small} greater than count {digit}
rtsassert|personality->version == BGLPERSONALITY_VERSION|vaddr % PAGE_SIZE_1M == 0|(descr->count & 0x{hex2}) == 0
rtsfunction|void start()|int mmuMap(void*, unsigned)|treeSend
rtsfile|start.cc|mmu.cc|treebgl.cc
two2|{two}
small2|{small}|{count}
bglfile|idotransportmgr.cpp|idoclient.cpp|cardmgr.cpp
bglfunction|int IdoTransportMgr::SendPacket(IdoUdpMgr*, BglCtlPavTrace*)|void CardMgr::poll()|main
chipstatus|M|C|E|I|-
idofail|socket closed|BGLERR_IDO_PKT_TIMEOUT connection lost to node/link/service card|{text}
nodelistname|nodes|node|cards
cardflags|no ALERTs are active.|no ALERTs are active. Clock Mode is Low. Clock Select is Midplane.|ALERT 0, ALERT {small}, ALERT {small} is (are) active. Clock Mode is {cmode}. Clock Select is {csel}.|Power Good is not asserted
cmode|Low|High
csel|Midplane|Bulk
power|U{two}|V1.{digit}|U{three}
pmstatus|is not accessible|is ok|over temperature|status fault detected on node card: {hex2}
bulk|{small}|{small} {small}
cardkind|node|link|service
cardinit|expected {small} chips, found {small}|JTAG scan failed: {text}|firmware mismatch {version}/{version}
fanstatus|OK|OK|FAILED|0x{hex2}
tempc|{count}|{count}.{digit}|--
lustrehost|bglio{count}|bglio{three}|{rackloc}-I{digit}
block|R{two}-M{digit}|R{two}_R{two}|{user}_{int}_{small}|DEFAULT|R{two}-M{digit}-{int}
jobstate|QUEUED|STARTING|RUNNING|DYING|ERROR|TERMINATED
exitstatus|0|{count}|killed by signal {count}|-1
passthrough|none|{torusdir}|{torusdir} {torusdir}
scratch|0 (0M)|1 (2M)|7 (4M)
bglmaster|mmcs_server exited normally with exit code {count}|mmcs_server died with signal {small}|ciodb has been restarted.
jid|71{five}|71{five}|70{five}
five|{two}{three}
jobid|{jid}|{jid}|{jid}|{jid}_{count}({jid})|{jid}_*|{jid}+{digit}({jid})
hostlist|{computenode}|{computenode}|cn[0{two}-5{two}]|cn[0{two},3{two}-9{two}]|cn[0{two},2{two},4{two}-6{two}],gpu{two}|(null)
computenode|cn{three}|cn{three}|cn{three}|gpu{two}|fat-{digit}
cpus|{count}|1|{int}
partition|batch|batch|long|gpu|debug|{user}-lab|batch,long
priority|{int}|{big}|4294901{three}
stepid|{jid}.batch|{jid}.{small}|{jid}.extern|{jid}.interactive
stepid2|StepId={stepid}|JobId={jid} StepId=Batch|StepId={jid}_{count}.batch
unixid|{int}|{int}|0|10{three}
cpumask|{hex16}|{hex4}|000000{hex2}|F
drainreason|Not responding|Low RealMemory|Kill task failed|{user}: {noun} swap|gres/gpu count reported lower than configured ({digit} < {digit})|{text}|Prolog error|(null)
nodestate|DRAIN|DOWN|IDLE|RESUME|INVAL|ALLOCATED+DRAIN|IDLE*
stepword|JOB|STEP
cancelcause|TIME LIMIT|PREEMPTION|NODE {computenode} FAILURE, SEE SLURMCTLD LOG FOR DETAILS|to SIGNAL Terminated
termsig|9|9|15|11|6|53
oomevents|events|events|event
slurmerror|Zero Bytes were transmitted or received|Socket timed out on send/recv operation|Unspecified error|Invalid job id specified|Protocol authentication error|Job/step already completing or completed|Communication connection failure
cpurange|CPU_ID[0-{count}]|task {small}|(null)
governor|Performance|{big}|OnDemand|High
holder|admin|user {user}|policy
jobsteps|JobId={jobid}|JobId={jobid},JobId={jobid}|JobId={jobid} StepId={small}
jobfields|TimeLimit={int}|Partition={partition}|Priority={priority} Nice={negative}|Comment="{text}"|Dependency=(null)|Dependency=afterok:{jid}(unfulfilled),afterany:{jid}(unfulfilled)|TimeLimit=UNLIMITED Account={noun}
lua|no account given, using {noun}|requested {small} gpus in partition {partition}, rejected|time limit {int} shortened to {int}|nil
preempted|requeued|killed|checkpointed|suspended
rpc|REQUEST_PING|REQUEST_COMPLETE_BATCH_SCRIPT|MESSAGE_NODE_REGISTRATION_STATUS|REQUEST_SUBMIT_BATCH_JOB|REQUEST_JOB_INFO
munge|Expired credential|Invalid credential|Unauthorized credential for client UID={unixid} GID={unixid}|Replayed credential
ctime|Fri Nov {day} {clock} 2026|Thu Jan 01 01:00:00 1970|Mon Nov  9 {clock} 2026
dbd|DBD_NODE_STATE|DBD_JOB_START|PERSIST_INIT|DBD_STEP_COMPLETE
rpcfunction|_slurm_rpc_dump_jobs|_slurmctld_background|schedule|_slurm_rpc_submit_batch_job|dump_all_job_state
reservation|{noun}_{small}|maint|root_{count}|{user}_course
userlist|{user}|{user},{user}|{user},{user},{user}|(null)|-{user}
cores|(null)|(null)|{int}
licenses|(null)|(null)|{noun}:{small}|{noun}:{small},matlab:{count}
watts|n/a|n/a|{int}K
slurmtime|2026-11-{day}T{clock}
slurmend|2026-12-{day}T{clock}|Unlimited
termsignal|SIGINT or SIGTERM|SIGTERM
hpid|30002312|30002312|30002312|3000{four2}
four2|2458|2458|2701|3{three}
epochms|17641{five}{three}|17642{five}{three}|17642{five}000|0
altitude|{int}|-{count}|0|{float}
goal|10000|10000|8000|{count}00|-1
heart|{count}|1{digit}{digit}|0|-1
rrlist|[]|[{int}]|[{int}, {int}]|[{int}, {int}, {int}, {int}]|null
screenaction|SCREEN_ON|SCREEN_OFF|USER_PRESENT|TIME_TICK|DATE_CHANGED|ACTION_SHUTDOWN
uploadkind|steps|sleep|heart rate|track|weight
uploadresult|ok|ok|retry|HTTP {httpcode}|null
httpcode|200|401|403|500|502|-1|0
sleepstage|deep|light|REM|awake|unknown
clock2|{hour}:{minute}
hour|0{digit}|1{digit}|2{trit}
trit|0|1|2|3
minute|0{digit}|1{digit}|2{digit}|3{digit}|4{digit}|5{digit}
conf|0.{two}|0.{two}|1.0|0.{digit}|NaN
table|t_step_day|t_heart|t_sleep_segment|t_track_point|t_user
rowcount|{small}|{int}|null|empty cursor
btstate|IDLE|CONNECTING|CONNECTED|DISCONNECTING|BONDING
btreason|0|{count}|133|user|GATT_CONN_TIMEOUT
syncversion|{epochms}|{count}|0|null|never
localremote|local|remote|remote|both
syncmessage|token expired|timeout|null||{text}|java.net.UnknownHostException: {host}|{"error":{"code":{int},"detail":"{text}"}}
weekdays|[]|[1, 2, 3, 4, 5]|[6, 7]|[{digit}]|every day|once
goalkind|steps|calories|stand|active minutes|sleep
goalby|user|coach|default|device {bandmodel}
badge|{count}0000 steps|First Marathon|Early Bird|7 days in a row|Night Owl {small}
masked2|{user}***|1**{two}|***
sport|running|walking|cycling|open water swimming|{count}
duration|{count}:{minute}|{digit}:{minute}:{minute}|--:--
pace|{digit}'{minute}"|--'--"|{count}'{minute}"
coach|{small} kilometres|time {count} minutes {count} seconds|one kilometre, pace {digit} minutes {minute} seconds|heart rate too high|keep going!|workout paused
spo2|9{digit}|8{digit}|--|0
wearing|worn|not worn|loose|unknown
stress|{count}|{percent}|-1
stresslevel|relaxed|normal|medium|high
bodyfat|{count}.{digit}%|{count}.{digit}%|--|0.0%
impedance|{int}|{int}|null
userornull|{user}|{user}|guest|null|new user
gender|0|1|2|null
birthday|19{two}-0{digit}-1{digit}|20{two}1{digit}0{digit}|null|not set
healthpermission|ACTIVITY_RECOGNITION|BODY_SENSORS|ACCESS_FINE_LOCATION|POST_NOTIFICATIONS|android.permission.health.READ_STEPS
savedstate|null|null|Bundle[{tab={small}}]|Bundle[mParcelledData.dataSize={int}]
memorylevel|TRIM_MEMORY_UI_HIDDEN|TRIM_MEMORY_RUNNING_CRITICAL|{count}|unknown
healtherror|java.lang.NullPointerException|java.lang.NullPointerException: Attempt to invoke virtual method on a null object reference|android.database.sqlite.SQLiteFullException: database or disk is full (code 13)|java.lang.IllegalStateException: {table} is closed
signedms|{int}|-{int}|-{big}|{big}
dayno|2026112{digit}|2026111{digit}|0
dayword|day|days|days
record||{epochms}##{int}|null|{epochms}##{int}##NaN|###|{noun}
jobreason|battery low|device idle|no network|{text}|quota
bandmodel|Band 6|Band 7 Pro|Watch GT-{hex2}|{noun}-band|null
oscontext|req-{uuid} {hex32} {hex32} - - -|req-{uuid} {hex32} {hex32} - default default|req-{uuid} {hex32} {hex32} - default default|None req-{uuid} {user} {noun}|req-{uuid} - - - - -|req-{uuid} req-{uuid} {hex32} {hex32} - - default default
hex32|{hex16}{hex16}
osperiodic|req-{uuid} - - - - -|None req-{uuid} - - - - -|-
novauri|/v2/{hex32}/servers/detail|/v2.1/servers/{uuid}|/v2.1/servers/{uuid}/action|/v2.1/os-server-external-events|/v2.1/servers/detail?all_tenants=True&host={host}|/v2/{hex32}/flavors/{small}|/
restcode|200|200|200|202|204|404|409|300
elapsed|0.{six}{digit}|{digit}.{six}{digit}|0.{three}|{small}.{six}
metadataclient|{ip},{ip}|{ip},{ip}|{ip}
metadatauri|/latest/meta-data/{noun}|/openstack/2013-10-17/meta_data.json|/openstack/latest/user_data|/latest/meta-data/|/2009-04-04/meta-data/public-keys/0/openssh-key
lifecycle|Started|Stopped|Paused|Resumed|Suspended
imagebase|/var/lib/nova/instances/_base/{sha}|/var/lib/nova/instances/_base/{sha}|/var/lib/nova/instances/{uuid}
pcistats|[]|[]|[PciDevicePool(count={small},numa_node={digit},product_id='{hex4}',tags={dev_type='type-VF'},vendor_id='8086')]|None
neutronuri|/v2.0/ports?device_id={uuid}|/v2.0/ports.json?tenant_id={hex32}&device_id={uuid}|/v2.0/networks/{uuid}|/v2.0/security-groups?fields=id&id={uuid}|/v2.0/floatingips?fixed_ip_address={ip}&port_id={uuid}|/v2.0/quotas/{hex32}
resource|memory|memory|disk|vcpu
resourceunit|MB|MB|GB|VCPU
ostask|spawning|deleting|rebooting_hard|image_snapshot|block_device_mapping|resize_migrating
authfailure|The request you have made requires authentication.|Invalid username or password|The account is locked for user: {hex32}
osnull|{small}|{count}|None
inventory|{'VCPU': {'total': {count}, 'reserved': {digit}, 'allocation_ratio': {digit}.0}}|{'MEMORY_MB': {'total': {int}, 'reserved': 512, 'allocation_ratio': 1.5}, 'DISK_GB': {'total': {int}, 'reserved': 0, 'allocation_ratio': 1.0}}|{}
weight|{digit}.{digit}|{digit}.{six}{six}|-{digit}.0|0.0
schedfilter|RetryFilter|AvailabilityZoneFilter|ComputeFilter|ImagePropertiesFilter|NUMATopologyFilter|PciPassthroughFilter
vd|b|c|d|e
vmstate|error|active|stopped|ERROR
oserror|{oserrorclass}: {text}|nova.exception.PortBindingFailed: Binding failed for port {uuid}, please check neutron logs for more information.|libvirt.libvirtError: internal error: process exited while connecting to monitor|nova.exception.BuildAbortException: Build of instance {uuid} aborted: Failed to allocate the network(s), not rescheduling.|TimeoutError
oserrorclass|nova.exception.NovaException|oslo_db.exception.DBConnectionError|OSError|oslo_messaging.exceptions.MessagingTimeout
httpexception|Instance {uuid} could not be found.|Flavor {noun} could not be found.|Cannot '{ostask}' instance {uuid} while it is in vm_state {vmstate}|No instances found for any event|Quota exceeded for {noun}: Requested {small}, but already used {count} of {count} {noun}
osdash|-|{int}|{int}
microversion|2.{small}|2.{count}|-|latest
vnic|normal|normal|direct|macvtap
osport|{uuid}|None|{'id': '{uuid}', 'mac_address': 'fa:16:3e:{hex2}:{hex2}:{hex2}', 'fixed_ips': [{'ip_address': '{ip}'}]}
portdetails|{'device': '{uuid}', 'network_type': 'vxlan', 'segmentation_id': {count}, 'admin_state_up': True, 'fixed_ips': [{'subnet_id': '{uuid}', 'ip_address': '{ip}'}]}|{'device': '{uuid}', 'no_active_binding': True}
ha|primary|backup|master|fault
volumetype|raw|image|snap|source_vol
volumespec|{'status': 'creating', 'volume_name': 'volume-{uuid}', 'volume_size': {count}}|{'status': 'creating', 'volume_name': 'volume-{uuid}', 'volume_size': {count}, 'image_id': '{uuid}', 'image_location': ('rbd://{uuid}/images/{uuid}/snap', None)}
glance|queued|is being deleted|was not found|has been saved, {big} bytes
amqperror|[Errno 111] ECONNREFUSED|timed out|<RecoverableConnectionError: unknown error>|[Errno 104] Connection reset by peer|Server unexpectedly closed connection
secondword|second|seconds|seconds
periodic|update_available_resource|_sync_power_states|_heal_instance_info_cache|_run_pending_deletes
loopfunction|nova.servicegroup.drivers.db.DbDriver._report_state|neutron.agent.dhcp.agent.DhcpAgentWithStateReport._report_state|nova.virt.libvirt.guest.{noun}
osservice|compute|conductor|scheduler|console
oslock|compute_resources|{uuid}|refresh_cache-{uuid}|{uuid}-events|placement_client|{sha}
oscallable|nova.compute.manager.ComputeManager.{periodic}|nova.compute.resource_tracker.ResourceTracker.instance_claim|nova.compute.manager.InstanceEvents.pop_instance_event.<locals>._pop_event|os_brick.{noun}.connect_volume
exten|{extnum}|{extnum}|{extnum}|s|h|_X.|*97|{dialnumber}|{user}
endpointname|{extnum}|{extnum}|{extnum}|{user}|{trunk}
extnum|10{digit}|20{digit}|{int}
dialnumber|0{big}|+49{big}|{extnum}|00{big}{two}|anonymous
dialplan|from-internal|from-trunk|macro-dial|internal|ivr-{small}|ext-queues|app-blacklist|default
dialapp|Dial|NoOp|Set|Goto|GotoIf|Playback|Answer|Wait|Macro|Hangup|VoiceMail|ExecIf|Queue
channel|SIP/{extnum}-{hex8}|SIP/{extnum}-{hex8}|PJSIP/{trunk}-{hex8}|PJSIP/{extnum}-{hex8}|Local/{extnum}@{dialplan}-{hex8};{pairend}|DAHDI/i{digit}/{dialnumber}-{hex2}|IAX2/{trunk}-{int}
pairend|1|2
trunk|sipgate|{noun}-out|provider_{digit}|trunk-{user}
appdata||{digit}|SIP/{extnum},{count},tTr|CDR(outbound_cnum)={dialnumber}|{sound2}|DIALSTATUS={dialstatus}|1?{dialplan},{exten},1:next|"TRUNK: {trunk} FAILED with HANGUPCAUSE: {count} - failing through to other trunks"|PJSIP/{dialnumber}@{trunk},300,Tb(func-apply-sipheaders^s^1)|{extnum}@default,u|CALLERID(name)={user} {user}
dialed|SIP/{extnum}|PJSIP/{dialnumber}@{trunk}|{extnum}|Local/{extnum}@{dialplan}/n
sound2|vm-goodbye|custom/{noun}|beep|digits/{digit}|/var/lib/asterisk/sounds/en/{noun} {noun}|ss-noservice|silence/{digit}
codecfile|ulaw|alaw|gsm|slin|wav
lang|en|de|en_GB
callername|{user}|{extnum}|{user} {user}||Anonymous|{user} ({noun})
sipdomain|{ip}|{ip}:5060|pbx.{noun}.example.org
sipfailure|Wrong password|Wrong password|No matching peer found|Username/auth name mismatch|Peer is not supposed to register|Device does not match ACL
sipfailure2|No matching endpoint found|Failed to authenticate|No matching endpoint found after {small} tries in {float} ms
sipuri|sip:{extnum}@{ipport}|<sip:{extnum}@{ip}>|"{callername}" <sip:{dialnumber}@{sipdomain}>|sip:{user}@{host}
contacturi|sip:{extnum}@{ipport}|sip:{user}@{ipport}|sips:{extnum}@{host}:5061
callid|{hex32}@{sipdomain}|{hex12}-{hex8}|{big}-{big}-{big}|{hex32}
sipcode|486|404|503|480|603|500
sipreason|Busy Here|Not Found|Service Unavailable|Temporarily Unavailable|Decline|Server Internal Error
dialstatus|CHANUNAVAIL|BUSY|NOANSWER|CANCEL|CONGESTION|ANSWER|UNKNOWN
mohclass|default|default|none|{noun}
endpointstate|Reachable|Unreachable
contactstate|Reachable|Unreachable|NonQualified|Removed
rtt|{count}.{three}|nan|0.000
siptransport|udp|UDP|tcp|TLS
contactdue|expiration|request|shutdown|remove existing
extstate|InUse|Idle|Ringing|Unavailable|On Hold|InUse&Ringing
recformat|wav|wav49|gsm
recpointer|0x7f{hex8}|(nil)
dtmf|#|*|{digit}
peername||{extnum}|{trunk}
chantech|SIP|PJSIP|Local|DAHDI
q850|Subscriber absent|No route to destination|Unknown|Circuit/channel congestion|User busy
codec|ulaw|alaw|g722|opus|gsm|slin16
criticality|Critical|Non-critical
sipmessage|Response|Request|Response
rtcpdir|SR|RR
sipmethod|BYE|INVITE|ACK
diversion|unconditional|no answer|busy|{count}
queuekind|voice|frame
confrole|admin|user|marked user
confcount|1 participant|{small} participants|{count} participants|empty
callqueue|{noun}|support|{extnum}|sales-{lang}
memberstate|added|removed|paused|unpaused|is now In use|has taken {count} calls (last was {int} secs ago)|is invalid
callword|calls|calls|call
maxcalls|unlimited|{count}
strategy|ringall|rrmemory|leastrecent|fewestcalls
agi|{noun}.agi|/var/lib/asterisk/agi-bin/{noun}.php|agi://{ip}/{noun}?id={int}|{noun}.agi,{dialnumber}
agireturn|0|4|-1
agitx|200 result={digit}|agi_{noun}: {extnum}|200 result=1 ({dialnumber})|agi_callerid: {dialnumber}|511 Command Not Permitted on a dead channel or intercept routine|
agirx|SET VARIABLE {noun} "{text}"|STREAM FILE {sound2} "#" 0|GET VARIABLE CALLERID(num)|VERBOSE "{noun} {int}" 1|HANGUP
amiuser|{user}|monitor|{noun}-panel
recformat2|wav|null|gsm
faxstate|started|completed|failed|negotiating
faxpages|{small} pages|1 page|no carrier|{text}|T.38 {int} bps
astmodule|chan_sip.so|res_pjsip.so|app_queue|dnsmgr|cdr_csv.so
astdescription|Session Initiation Protocol (SIP)|True Call Queueing|{noun} {noun} (core)|Comma Separated Values CDR Backend
parsing|Found|Not found ({errno})
updown2|up|down|down
dahdialarm|Red Alarm|Yellow Alarm|No Alarm|Loopback|Blue Alarm
friendly|{room} {fixture}|{room}_{fixture}|0x{hex16}|{room}/{fixture} {digit}|{user}s {fixture}
room|kitchen|hall|living room|bedroom {digit}|garage|attic|{user}s room
fixture|lamp|sensor|plug|remote|switch|blind|motion sensor
z2mtopic|zigbee2mqtt/{friendly}|zigbee2mqtt/{friendly}|zigbee2mqtt/{friendly}|zigbee2mqtt/bridge/state|zigbee2mqtt/{friendly}/availability
z2mpayload|{{sensorkeys},"linkquality":{linkquality}}|{{sensorkeys},"linkquality":{linkquality}}|{{sensorkeys},"linkquality":{linkquality},"update":{"state":"idle"}}|{"state":"online"}|offline|
linkquality|{count}|{three2}|255|null
three2|1{two}
endpoint|endpoint {digit}|endpoint {digit}|root
zwaveclass|Multilevel Sensor|Binary Switch|Meter|Notification|Battery|Central Scene
zwaveproperty|currentValue|Air temperature|value[{count}]|Home Security: Motion sensor status|level
zwavevalue|true|false|{float}|{count}|undefined|null|{"value":{small},"unit":"seconds"}|"unknown"
entityid|{entitydomain}.{room2}_{fixture2}|{entitydomain}.{room2}_{fixture2}|sensor.{noun}_{small}|person.{user}
entitydomain|light|switch|sensor|binary_sensor|cover|climate
room2|kitchen|hall|living_room|bedroom_{digit}
fixture2|lamp|motion|plug|battery|temperature
hastate|on|off|on|off|unavailable|unknown|{float}|{iso}|home|not_home|partly cloudy|None
sensorname|{room} temperature|{noun} Humidity|CO2|Uptime|{room} {fixture} power
reading2|{count}.{five}|{count}.{two}000|nan|-{digit}.{five}|{int}.00000
sensorunit|°C|%|ppm|W|s|hPa|
xycolor|0.{two}|0.{two}{two}
huechange|turned on|turned off|brightness {percent}%|color xy=[{xycolor},{xycolor}]|unreachable|turned on, brightness {percent}%, ct={three2}
rulename|{room} lights|{noun} at sunset|notify {user}|heating: {room} night mode|rule_{small}|Good morning!
trigger|time {clock2}|{entityid}|sunset -0:{minute}:00|{user}|{entityid} for {durationwords}|MQTT zigbee2mqtt/{friendly}|button "{scene}"
durationwords|{count} min|1 h {count} min|{small} hours|1 hour|{count} seconds|{small} days
conditiontext|{entityid} is {hastate}|after sunset|{temp2} < {target}|time between {clock2} and {clock2}|{person} is home
scene|movie|"good night"|{room} bright|away|{noun} {digit}|dinner for {small}
actor|{user}|{user}|schedule|code {digit}|key fob {small}|rule "{rulename}"|unknown user|null
itemname|{roomcap}_{fixture2}|{roomcap}_{fixture2}|Heating_{roomcap}_Setpoint|Weather_{noun}|g{roomcap}
roomcap|Kitchen|Hall|LivingRoom|Bedroom{digit}
command2|ON|OFF|REFRESH|{percent}|{count}.{digit}|INCREASE|{percent},{percent},{percent}|UP|{count}.{digit} °C
itemstate|NULL|ON|OFF|{count}.{digit}|{float} °C|UNDEF|{percent},{percent},{percent}|2026-11-{day}T{clock}.{three}+0100|OPEN|CLOSED
thinguid|mqtt:topic:{hex8}:{room2}|hue:0210:{hex12}:{small}|zwave:device:{hex8}:node{count}|network:pingdevice:{noun}
thingstatus|ONLINE|OFFLINE|UNKNOWN|INITIALIZING|UNINITIALIZED (NOT_YET_READY)|OFFLINE (COMMUNICATION_ERROR): {text}|OFFLINE (COMMUNICATION_ERROR)|REMOVING
bars|▂▄▆█|▂▄▆|▂▄|
temp2|{count}.{digit}|{count}|-{digit}.{digit}|{count}.{digit}
target|{count}.{digit}|off|{count}.0|eco
valve|{percent} %|closed|open|0 %|?
vendor|IKEA|Philips|Aqara|Tuya|_TZ3000_{hex8}
modelname|TRADFRI bulb E27|Hue motion sensor|Temperature and humidity sensor|Smart plug (with power monitoring by polling)|Wireless mini switch
modelcode|LED{two}{digit}G{digit}|SML00{digit}|WSDCGQ11LM|TS01{letter2}_{noun}|E{two}{two}/E{two}{two}
letter2|F|1
setget|set|set|get
z2mkey|state|brightness|color_temp|occupancy_timeout|state_l{digit}
z2merror|ZCL command 0x{hex16}/{digit} genOnOff.on({}, {"timeout":10000,"disableResponse":false}) failed (Data request failed with error: '{zigbeefail2}' ({count}))|Error: No converter available for '{z2mkey}' ("{noun}")|TypeError: Cannot read properties of undefined (reading '{noun}')
zigbeefail2|MAC no ack|No network route|MAC channel access failure|Timeout
zigbeefail|Data request failed with error: '{zigbeefail2}' ({count})|Timeout - {int} - {digit} - {count} - 0 - 1 after {int}ms|{"target":{int},"apsFrame":{"clusterId":{small},"sequence":{count}}} timed out after 10000ms
otaprogress|{percent}.{two}%, ≈ {count} minutes remaining|no update available|update available|failed ({zigbeefail2})|finished, from version {int} to {int}
battery|{percent} %|low|critical ({small} %)|unknown|{digit}.{two} V
person|{user}|{user}|{user} ({thing})|guest {digit}
presence|arrived home|left home|is {float} km away|arrived at {place}|unknown
place|work|school|"{noun}"
wattage|{int}|{count}.{digit}|-{int}|0
solar|no solar|solar {int} W|solar {int} W (battery {percent} %, charging)|solar offline
gridflow|import {int} W|export {int} W|0 W|unknown
tariff|high|low|T{digit}|weekend
price|{count}.{two}|{count}.{two}|-{digit}.{two}
updown3|up|down
camerastream|started|stopped|lost ({text})|reconnected after {durationwords}
detected|person|car|cat|{small} persons|person, dog|face of {user}
utterance|turn on the {fixture} in the {room}|what's the time|set {room} to {count} degrees|stop|goodnight|{noun} {noun}|play some jazz
voiceintent|light.on({room})|time()|climate.set(room={room}, value={count})|null|ambiguous: {small} candidates
weather|cloudy|light rain|thunderstorm with hail|clear|fog|snow showers
winddir|N|SW|ENE|variable|
armmode|away|home|night|custom bypass
integration|roborock|openweathermap|mqtt|{noun}|sonos|fritz|hue
haerror|Timeout while fetching data|Cannot connect to host {host}:443 ssl:default [Name or service not known]|{int}|HTTP 50{digit}|{text}||expecting value: line 1 column 1 (char 0)
pybool|True|True|False
entityunique|{mac}|{hex12}-{noun}|{count}|{noun} {small}
duplicates|already exists|is already used by {entityid}
severity|warning|error
jinja|dict object' has no attribute '{noun}|{noun}|None
jinjatemplate|states('{entityid}') , float(0) / 10|value_json.{noun}|trigger.event.data.{noun}
hahost|{host}|{ip}|fritz.box
hauri|/auth/login_flow/{hex32}|/api/websocket|/.env|/api/states/{entityid}
agent|Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/11{digit}.0|Home Assistant/2024.{digit}.{digit}-{int} (Android 14; Pixel {digit})||curl/8.{digit}.0
sensorkind|sensor|sensor|switch|device_tracker
entitycount|1 entity|{small} entities|{count} entities
resetreason|power on|watchdog|0x{hex2}|software, code {count}|unknown
backupname|2026-11-{day}|"Core 2026.{digit}.{digit}"|{hex8}|full_{day}
backupstate|started|completed, {size}|failed: {text}|uploaded to {place}|deleted by retention of {small} copies
esnode|es-data-{small}|es-data-{small}|es-master-{digit}|{user}s-laptop|elasticsearch-{noun}-{small}|ip-10-0-{small}-{count}
esindex|logs-{noun}-2026.11.{day}|logs-{noun}-2026.11.{day}|{noun}|.kibana_task_manager_8.{small}.{digit}_001|.ds-metrics-{noun}-default-2026.11.{day}-0000{two}|{noun}_v{digit}|.security-7
esuid|{mixed}{mixed}{mixed}-{mixed}Q|{mixed}{mixed}_{mixed}{mixed}w|{mixed}{mixed}{mixed}{mixed}A
mixed|x{hex2}Zk|Q{digit}b{hex2}|hT{hex2}g|mR-{hex2}|{letter}W{letter}{two}
estype|_doc|_doc|_doc|doc|logevent
estook|{count}ms|{int}ms|{count}.{digit}s|{small}.{digit}m|{int}micros|{count}s
eshits|{int} hits|{int} hits|10000+ hits|0 hits|-1
esstats||{noun}|{noun}, {noun}
essearch|QUERY_THEN_FETCH|QUERY_THEN_FETCH|DFS_QUERY_THEN_FETCH
esquery|{"size":{count},"query":{"match_all":{"boost":1.0}}}|{"query":{"bool":{"filter":[{"term":{"{noun}":{"value":"{user}"}}},{"range":{"@timestamp":{"gte":"now-{count}m","lt":null}}}]}}}|{"from":{int},"size":{count},"sort":[{"@timestamp":{"order":"desc"}}]}|{"query":{"query_string":{"query":"{noun} AND {user}","fields":[]}},"track_total_hits":true}|{}
esopaque||||{uuid}|kibana:application:dashboards:{noun};visualization:lens:{noun} by {noun}
escause|api|auto(bulk api)|initialize_data_stream|rollover_data_stream|shrink_index
estemplates||{noun}|{noun}-template, {noun}|logs
eshealth|GREEN|YELLOW|RED
esreason|shards started [{esshard}]|shards started [{esshard}, {esshard}]|index [{esindex}] created|{esnode} left|shards failed [{esshard}]|{digit} nodes joined
esgen|young|young|old|[old]
essize|{count}.{digit}gb|{count}gb|{int}mb|{int}.{digit}mb|{int}kb|0b|{small}.{digit}tb
espools|[young] [{essize}]->[{essize}]/[{essize}]}{[survivor] [{essize}]->[{essize}]/[{essize}]}{[old] [{essize}]->[{essize}]/[{essize}]|[young] [{essize}]->[{essize}]/[0b]}{[old] [{essize}]->[{essize}]/[{essize}]}{[survivor] [{essize}]->[{essize}]/[0b]
esdocid|{mixed}{mixed}{mixed}{mixed}|{int}|{user}|
esrouting||||{user}|{int}
esdoc|{json}|{json}|{"@timestamp":"2026-11-{day}T{clock}.{three}Z","message":"{text}"}|{"{noun}":null}
ilmstep|null|{"phase":"{ilmphase}","action":"complete","name":"complete"}|{"phase":"{ilmphase}","action":"{ilmaction}","name":"{ilmname}"}|{"phase":"{ilmphase}","action":"{ilmaction}","name":"ERROR"}
ilmphase|new|hot|warm|delete
ilmaction|rollover|shrink|forcemerge|delete|unfollow
ilmname|check-rollover-ready|wait-for-follow-shard-tasks|{ilmaction}|set-single-node-allocation
espolicy|{noun}|{noun}-policy|logs|30-days-default|{noun} of {user}
esdiscovery|{{esnode}}{{esuid}}{{esuid}}{{ip}}{{ip}:9300}{{esroles}}|{{esnode}}{{esuid}}{{esuid}}{{esnode}}{{ip}}{{ip}:9300}{{esroles}}{8.{small}.{digit}}{{int}-{int}}{ml.max_jvm_size={big}, xpack.installed=true}|{{esnode}}{{esuid}}{{esuid}}{{host}}{{ip}:9300}{{esroles}}
esroles|cdfhilmrstw|dim|m|dir
applyreason|Publication{term={count}, version={int}}|ApplyCommitRequest{term={count}, version={int}, sourceNode={esdiscovery}}|becoming candidate: {leaderreason}
leaderreason|onLeaderFailure|joinLeaderInTerm|Publication.onCompletion(false)
joinword|joining|join existing leader|rejoining
leftreason|disconnected|followers check retry count exceeded|lagging|health check failed
esprevious||{esdiscovery}
watermark|85%|90%|95%|{essize}|{percent}.0%
esindices|[{esbracket}]|[{esindex}]|[{esindex}, {esindex}, {esindex}]
esbootstrap| yet| or elected yet, an election requires a node with id [{esuid}]|, this node has not previously joined a bootstrapped cluster, and this node must discover master-eligible nodes [{esnode}, {esnode}] to bootstrap a cluster
esdiscoverylist|[]|[{esdiscovery}]|[{esdiscovery}, {esdiscovery}]
esaddresses|[]|[{ip}:9300]|[127.0.0.1:9300, 127.0.0.1:9301, [::1]:9300]|[{ip}:9300, {ip}:9300]
esremote|/{ipport}|{host}/{ipport}|null
esbound|{ip}:9200|[::]:9200|[::1]:9300}, {127.0.0.1:9300
essent|{count}.{digit}s/{int}ms|{count}s/{int}ms|{small}.{digit}m/{big}ms
esaction|indices:monitor/stats[n]|cluster:monitor/nodes/stats[n]|internal:coordination/fault_detection/leader_check|indices:data/write/bulk[s][r]|cluster:admin/snapshot/status
espath|/{esindex}/_search|/_bulk|/_cluster/health|/_cat/indices/{noun}*|/{esindex}/_doc/{int}|/.kibana/_update_by_query
esparams||index={esindex}|index={esindex}, ignore_unavailable=true|pretty=|timeout=30s, wait_for_status=yellow|index={esindex}, id={int}
httpstatus2|404|429|500|503|400
esfailure||{esexception}|{frames2b}|{esexception}{frames2b}
esexception|org.elasticsearch.transport.NodeDisconnectedException: [{esnode}][{ip}:9300][{esaction}] disconnected|org.elasticsearch.index.IndexNotFoundException: no such index [{esindex}]|java.lang.IllegalStateException: {text}|org.elasticsearch.common.breaker.CircuitBreakingException: [parent] Data too large, data for [<http_request>] would be [{big}/{essize}], which is larger than the limit of [{big}/{essize}]|ConnectTransportException[[{esnode}][{ip}:9300] connect_exception]; nested: IOException[Connection refused: {ip}/{ip}:9300];
esshardstate|STARTED|INITIALIZING|RELOCATING
shardmessage|failed recovery|failed to perform {esaction} on replica [{esindex}][{digit}]|shard failure, reason [{engineword}]|mark copy as stale|master {esdiscovery} has not removed previously failed shard. resending shard failure
engineword|merge failed|already closed by tragic event on the index writer|refresh failed source[schedule]|corrupt file (source: [start])|lucene commit failed
templatekind|index|component|legacy
essetting|cluster.routing.allocation.enable|indices.recovery.max_bytes_per_sec|search.max_buckets|logger.org.elasticsearch.{noun}|cluster.routing.allocation.exclude._ip
essettingvalue|all|none|{essize}|{int}||DEBUG|null|{ip},{ip}
esrepo|backup|s3-{noun}|found-snapshots|nfs_{user}
essnapshot|nightly-2026.11.{day}-{podtail}|snap_{count}|before upgrade
snapstate|SUCCESS|SUCCESS|PARTIAL|FAILED
essnapshotlist|{essnapshot}/{esuid}|{essnapshot}, {essnapshot}
esprincipal|{user}|elastic|kibana_system|{user}@example.org|*
esrealm|reserved|file1|ldap-{noun}|saml1|native1
esauthfail|failed to authenticate user [{esprincipal}]|Password authentication failed for {user}|{text}|null
esjob|{noun}_rate|{noun}-{user}|high-count-by-{noun}
mlfile|CAnomalyJob.cc|CResourceMonitor.cc|Main.cc
mlmessage|Processed {int} records|Memory usage {essize} exceeds {essize}, pruning|Loading model snapshot [{int}], job latest_record_timestamp [{esnull}]|{text}
esnull|null|2026-11-{day}T{clock}.000Z|N/A
mlstate|opened|closing|failed
mlreason|opening job|[{noun}] model snapshot restored|close job (api)|{text}
esmodule|aggs-matrix-stats|ingest-common|reindex|x-pack-{noun}|lang-painless|transport-netty4
esmount|/ ({extdevice})|/srv/data (/dev/{extdevice})|/usr/share/elasticsearch/data ({host}:/export/{noun})
esfs|ext4|xfs|overlay|nfs4
esbuild|default/docker|default/deb|oss/tar|default/rpm
esjvm|Oracle Corporation/OpenJDK 64-Bit Server VM|Eclipse Adoptium/OpenJDK 64-Bit Server VM|AdoptOpenJDK/OpenJDK 64-Bit Server VM
jvmargs|-Xms{count}g, -Xmx{count}g, -XX:+UseG1GC|-Xshare:auto, -Des.networkaddress.cache.ttl=60, -Djava.io.tmpdir={path}, -Xms{int}m, -Xmx{int}m, -XX:MaxDirectMemorySize={big}|-Xms1g, -Xmx1g
esdeprecation|index name [{esindex}] starts with a dot '.', in the next major version, index names starting with a dot are reserved for hidden indices and system indices|legacy template [{noun}] has index patterns [{esindex}*] matching patterns from existing composable templates [{noun}]
geodb|/usr/share/elasticsearch/modules/ingest-geoip|{path}|GeoLite2-City.mmdb, GeoLite2-ASN.mmdb|
asadirection|inbound|outbound|outbound
asaif|inside|outside|outside|dmz|DMZ-{noun}|guest|mgmt|vlan{count}|identity
asaport|443|443|53|80|22|25|3389|{port}
asauser|{user}|EXAMPLE\{user}|LOCAL\{user}|{user}@example.org
asaduration|{digit}:{minute}:{minute}|0:00:{minute}|0:00:00|{small}h{minute}m
asareason|TCP FINs|TCP Reset-I|TCP Reset-O from outside|SYN Timeout|Idle Timeout|Connection timeout|Flow closed by inspection|Tunnel has been torn down
fwin|eth0|eno1|br-lan|wg0|enp{digit}s0|
fwout||||eth1|docker0|tun{digit}
fwmac|{mac}:{mac}:08:00|{mac}:{mac}:86:dd|
fwlen|40|44|60|{int}
fwprec|00|00|20|C0
fwflags|DF ||DF |CE DF |
fwproto|TCP SPT={port} DPT={asaport} WINDOW={int} RES=0x00 SYN URGP=0 |TCP SPT={port} DPT={asaport} WINDOW={int} RES=0x00 {fwtcp} URGP=0 |UDP SPT={port} DPT={asaport} LEN={int} |ICMP TYPE={small} CODE={digit} ID={int} SEQ={count} |2 |UDP SPT=68 DPT=67 LEN={int} MARK=0x{digit}
fwtcp|ACK|ACK FIN|RST|ACK PSH|ACK SYN|FIN
asaproto|tcp|udp|icmp|protocol 41|igmp
asaaddress|{ip}/{port}|{ip}/{asaport}|{ip} (type {small}, code {digit})|{ip}
asaacl|outside_access_in|inside_access_in|acl-{noun}|101|VPN {noun}|dmz-in_v{digit}
pfid|10000{five}|16{five}{three}|12{five}{three}
pfif|igb0|igb1.{count}|em0|ovpns{digit}|pppoe0|lo0
pfaction|block|pass|block
pfdirection|in|in|out
pffrag|DF|none|MF
pfproto|6,tcp|17,udp|1,icmp|2,igmp
pftail|{port},{asaport},0,S,{big},,{int},,mss;nop;wscale;nop;nop;TS|{port},{asaport},{int}|datalength={count} |request,{int},{int},{count}|{port},{asaport},0,{pftcp},{big}:{big},{big},{int},,
pftcp|FPA|RA|A|SEC
asastatic|static|dynamic|dynamic
asaxproto|TCP|UDP|ICMP|tcp|udp
asaaction|permitted|denied|est-allowed
asahit|first hit|{int}-second interval|300-second interval
tcpflags|SYN|RST|ACK|FIN ACK|SYN ACK|PSH ACK|RST ACK|FIN PSH ACK
dnskind|Query|Response
asapayload|udp src {ip}/{port} dst {ip}/{asaport}|tcp src {asaif}:{ip}/{port} dst {asaif}:{ip}/{asaport}|icmp src {ip} dst {ip} (type {small}, code {digit})|protocol {count}|Unknown
threatobject|Scanning|SYN attack|{ip}|Bad pkts|ACL drop|Interface|{asaport}/HTTPS|Firewall
threathost|Host|Subnet
threatstate|attacking|targeted
asainterface|GigabitEthernet0/{digit}|Port-channel{digit}.{count}|Management0/0|Internal-Data0/{digit}|Tunnel{small}
asamanager|{ip}|{ip}|console|0.0.0.0|{ip6}
asaservice|ssh|https|telnet|{port}
asalogin|{user}|{user}|admin|enable_15|*****|{user}@example.org|EXAMPLE\{user}||monitor
asacommand|show running-config|write memory|configure terminal|no shutdown|access-list {asaacl} extended permit tcp any host {ip} eq {asaport}|object network {noun}|copy running-config tftp://{ip}/{noun}.cfg|clear xlate|terminal width {count}|perfmon interval {small}
asaapp|CLI|ASDM|N/A|SSH
asasource|memory|terminal|http [POST]|disk0:/{noun}.cfg|startup-config
asapriv|1|15
aaakind|authentication|authorization|accounting
aaareason|AAA failure|Invalid password|User was not found|Unspecified|Account has been disabled|Password expiring
vpngroup|DefaultWEBVPNGroup|{noun}-users|GP_{noun}|{ip}|Staff VPN|{noun}
vpnkind|SSL|AnyConnect-Parent|IKEv2|LAN-to-LAN|Clientless
vpnduration|{digit}h:{minute}m:{minute}s|{digit}d {digit}h:{minute}m:{minute}s|0h:00m:{minute}s
vpnreason|User Requested|Idle Timeout|Max time exceeded|Lost Service|DPD failure|Administrator Reset|Connection Preempted
vpntransport|TCP|UDP
vpncompression|without|with
vpnclosing|Transport closing|DPD failure|User Requested|Session timeout|Group {vpngroup} removed by {asalogin}
vpnip6|::|::|{ip6}
sslpeer|client|server|client
ikepeer|Group = {vpngroup}, IP = {ip},|IP = {ip},|Group = {vpngroup}, Username = {user}, IP = {ip},
ikephase|1|2
ikeproblem|Removing peer from correlator table failed, no match!|Session is being torn down. Reason: crypto map policy not found|QM FSM error (P2 struct &0x{hex8}, mess id 0x{hex8})!|construct_ipsec_delete(): No SPI to identify Phase 2 SA!|Rejecting IPSec tunnel: no matching crypto map entry for remote proxy {ip}/255.255.255.0/0/0 local proxy {ip}/255.255.255.255/0/0 on interface {asaif}
ipseckind|LAN-to-LAN|remote access
failoverwhy|HELLO not heard from mate|interface check|Set by the config command|No response from other firewall (reason code = {digit})|mate went down
failoverunit|Primary|Secondary
failovertest|Passed|Failed|Status Undetermined
luword|connection|xlate|crypto map|dhcp lease
asaresource|conns|xlates|hosts|Conns [rate]
asacontext|system|{noun}|context {noun}
arpkind|request|response
asaproxied|{ip}@|{user}@|
asakernel|kernel: ide0: unexpected interrupt, status=0x{hex2}|syslog flood of {int} messages suppressed|{noun}: {text}
fwin2|eth{digit}|enp{digit}s0f{digit}|veth{hex7}
gateway|WAN_DHCP|WANGW|{noun}_VPNV4|WAN2_PPPOE
fwauth|Local Database|LDAP/{noun}|Local Database Fallback
pfreload|Syncing firewall|Reloading filter|rc.newwanip starting {pfif}|updating dyndns {gateway}|Linkup starting {pfif}|Restarting IPsec tunnels
snortmessage|ET SCAN Potential SSH Scan|"ET POLICY curl User-Agent Outbound"|(http_inspect) NO CONTENT-LENGTH OR TRANSFER-ENCODING IN HTTP RESPONSE|ET DROP Spamhaus DROP Listed Traffic Inbound group {count}|GPL ICMP_INFO PING *NIX|{noun} signature {int}
snortclass|Attempted Information Leak|Potentially Bad Traffic|Misc Attack|Unknown Traffic|Potential Corporate Privacy Violation
snortproto|TCP|UDP|ICMP
auditbody|apparmor="{aaverdict}" operation="{aaop}" class="file" profile="{aaprofile}" name="{path}" pid={pid} comm="{comm}" requested_mask="{aamask}" denied_mask="{aamask}" fsuid={int} ouid=0|pid={pid} uid=0 auid=4294967295 ses=4294967295 subj=unconfined msg='op=PAM:{pamop} grantors={pamgrant} acct="{user}" exe="/usr/sbin/{noun}" hostname=? addr=? terminal={tty} res={auditres}'|pid=1 uid=0 auid=4294967295 ses=4294967295 subj=unconfined msg='unit={noun} comm="systemd" exe="/usr/lib/systemd/systemd" hostname=? addr=? terminal=? res={auditres}'|prog-id={count} op={bpfop}
aaverdict|DENIED|ALLOWED|STATUS
aaop|open|mknod|exec|profile_replace|ptrace|capable
aaprofile|snap.{noun}.{noun}|/usr/bin/{noun}|unconfined|firefox//sandbox
aamask|r|rw|wr|x|c|k
pamop|session_open|authentication|setcred|accounting
pamgrant|pam_unix,pam_systemd|?|pam_fprintd|pam_permit,pam_limits,pam_unix
tty|cron|/dev/tty{digit}|:0|pts/{small}|?
auditres|success|failed
bpfop|LOAD|UNLOAD
wlif|wlp{digit}s0|wlan0|wlp0s20f3|wlx{hex12}
wlreason|3=DEAUTH_LEAVING|1=UNSPECIFIED|6=CLASS2_FRAME_FROM_NONAUTH_STA|4=DISASSOC_DUE_TO_INACTIVITY|15=4WAY_HANDSHAKE_TIMEOUT|{count}
usbport|{digit}-{digit}|1-{digit}.{digit}|{digit}-{small2}|3-1.{digit}.{digit}
usbspeed|high-speed|full-speed|low-speed|SuperSpeed|SuperSpeed Plus Gen 2x1
usbproduct|USB Receiver|Integrated Camera|{noun} {noun}|USB3.0 Hub|Optical Mouse|HD Pro Webcam C920|DataTraveler 3.0|Headset (wireless)|{user}'s phone|2.4G Keyboard Mouse
usbvendor|Logitech|Kingston|SunplusIT Inc|Chicony Electronics Co.,Ltd.|Generic|Realtek|{hex4}
usbserial|{hex12}|000000000001|{big}|{hex8}{hex8}|Ver.00.{small}|OEM_{small}.{digit}
usbread|64|8|all
scsi|{digit}:0:0:{digit}|{digit}:0:0:0
scsidevice|Kingston DataTraveler 3.0 PMAP|Generic  STORAGE DEVICE   {int}|{noun}   {noun} SSD       {int}|SanDisk  Ultra            1.00
sdletter|a|b|c|d
sdsize|{count}.{digit} GB|{int} GB|{digit}.00 TB|{int} MB
sdsize2|{count}.{digit} GiB|{int} GiB|{int} MiB
sdswitch|off|off|on
sdkind|disk|removable disk|removable disk
partitions| sda1| sdb1 sdb2| sdc1 sdc2 sdc3| sda1 sda2 < sda5 sda6 >|| unknown partition table| sdb1 sdb2 sdb3 sdb{small}
inputname|Power Button|AT Translated Set 2 keyboard|{usbvendor} {usbproduct}|ThinkPad Extra Buttons|HDA Intel PCH Headphone|SYNA{hex4}:00 {hex4}:{hex4} Touchpad|{user}'s phone (AVRCP)|Video Bus|sof-hda-dsp Mic|{usbproduct} Consumer Control
devpath|platform/i8042/serio{digit}|LNXSYSTM:00/LNXPWRBN:00|pci0000:00/{pci}/usb{digit}/{usbport}/{usbport}:1.{digit}/0003:{hidid}|virtual
hidid|0003:{hex4}:{hex4}.{hex4}|0018:{hex4}:{hex4}.{hex4}|0005:{hex4}:{hex4}.{hex4}
hidnames|input,hidraw{digit}|hiddev{digit},hidraw{digit}|input,hiddev96,hidraw{digit}|hidraw{digit}
hidkind|USB HID v1.11 Mouse|USB HID v1.10 Keyboard|I2C HID v1.00 Mouse|BLUETOOTH HID v0.{two} Device|USB HID v1.11 Device
hidwhere|usb-{pci}-{digit}/input{digit}|i2c-SYNA{hex4}:00|{mac}|usb-{pci}-{digit}.{digit}/input0
pmkind|s2idle|deep|s2idle
acpitype|\_SB.PCI0.{noun}|button|battery|video|_OSC
acpiverb|evaluate|execute|notify
acpimethod|DSM|PTS|STA|BST|OSC
acpistatus|AE_NOT_FOUND|AE_ALREADY_EXISTS|AE_TIME|AE_AML_BUFFER_LIMIT|AE_NOT_EXIST
acpisymbol|[\_SB.PCI0.XHC.RHUB.SS0{digit}]|[\_TZ.ETMD]|[^^^PEG0.PEGP.GPUT]|\_SB.PCI0.LPCB.EC._Q{hex2}|[\_SB.PC00.TXHC.RHUB.{digit}]
pci|0000:00:{two}.{digit}|0000:{hex2}:00.0|0000:00:1f.{digit}|10000:e1:00.0
dmc|tgl|kbl|adlp|skl
drmpipe|A|B|C
drmunder|port,transcoder|soft,hard|transcoder
drmprocess|firefox|gnome-shell|{noun}|Xwayland|chrome:sh{digit}
drmengine|rcs0|bcs0|chip|vcs{digit}
drmresetwhy|stopped heartbeat on rcs0|preemption time out|hang on bcs0|no progress on rcs0, ctx {hex4}
sndvendor|realtek|hdmi|conexant|generic
hdaudio|hdaudioC{digit}D{digit}|ehdaudio0D{digit}
sndcodec|ALC{three}|CX20632|ALC3204|ALC1{three}
sndpins|0x{hex2}/0x0/0x0/0x0/0x0|0x{hex2}/0x{hex2}/0x0/0x0/0x0|0x0/0x0/0x0/0x0/0x0
sndtype|speaker|line|hp
sndinput|Headset Mic|Internal Mic|Mic|Line|Front Mic|Headphone Mic
sndplatform|tgl|cnl|mtl|skl
iwlfile|iwlwifi-{count}000-{count}.ucode|iwlwifi-ty-a0-gf-a0-{count}.ucode|iwlwifi-QuZ-a0-hr-b0-{count}.ucode|iwlwifi-so-a0-gf-a0.pnvm
iwlregister|umac branchlink{digit}|beacon time|NMI_INTERRUPT_UNKNOWN|ADVANCED_SYSASSERT|frame pointer|tsf low|board version|hcmd|trm_hw_status{digit}|last host cmd
btfirmware|{int}-{int}.sfi|0040-0041.ddc|{count}-{count}-{digit}.sfi
nvmequeues|{small}/0/0|{count}/0/0|1/0/0|8/0/2
extdevice|sda{digit}|dm-{digit}|nvme0n1p{digit}|sdb1|md{digit}|loop{count}
extmode|r/w|ro|r/w without journal
extquota|none.|disabled.|journalled
extfunction|ext4_lookup|ext4_find_entry|ext4_validate_block_bitmap|__ext4_get_inode_loc|htree_dirblock_to_tree
extproblem|deleted inode referenced: {int}|reading directory lblock {int}|unable to read itable block|bad entry in directory: rec_len is smaller than minimal - offset={int}, inode={int}, rec_len={small}, size=4096|comm {noun}: bg {small2}: bad block bitmap checksum
comm|firefox|gnome-shell|{noun}d|systemd-udevd|kworker/{digit}:{digit}|Web Content|chrome|python3|tracker-miner-f|apt-check|pool-{noun}
ioop|READ|WRITE|DISCARD|WRITE_ZEROES
bioword|async page read|lost async page write|lost sync page write
segfile|libc.so.6|lib{noun}.so.{version}|{comm}|libxul.so|libgtk-3.so.0.{int}.{digit}|perl
traps|trap int3|general protection fault|trap invalid opcode|trap divide error
gfpflags|GFP_HIGHUSER_MOVABLE,__GFP_CMA|GFP_KERNEL|GFP_USER,__GFP_ZERO
workfunction|drm_fb_helper_damage_work [drm_kms_helper]|output_poll_execute [drm_kms_helper]|acpi_os_execute_deferred|ucsi_handle_connector_change [typec_ucsi]|{noun}_work_fn
clocksource|hpet|acpi_pm|tsc-early
aerkind|Corrected|Multiple Corrected|Uncorrected (Non-Fatal)
aerseverity|Corrected|Uncorrected (Non-Fatal)|Uncorrected (Fatal)
aertype|Physical Layer|Data Link Layer|Transaction Layer|Inaccessible
aeragent|Receiver ID|Transmitter ID|Requester ID|Unregistered Agent ID
mguuid|{"uuid":{"$uuid":"{uuid}"}}|"{uuid}"
mgctx|conn{int}|conn{int}|conn{count}|conn{int}
mgtype|command|command|remove|update|none
mgns|{mgdb}.{noun}|{mgdb}.{noun}s|local.oplog.rs|config.system.sessions|admin.$cmd|{mgdb}.fs.chunks|{mgdb}.system.profile
mgdb|shop|admin|{noun}|test|{user}_dev|prod
mgapp||,"appName":"{noun}"|,"appName":"MongoDB Compass"|,"appName":"OplogFetcher"|,"isFromUserConnection":true
mgcommand|{"find":"{noun}","filter":{mgfilter},"limit":{count},"$db":"{mgdb}"}|{"aggregate":"{noun}","pipeline":[{"$match":{mgfilter}},{"$group":{"_id":"${noun}","n":{"$sum":1}}}],"cursor":{},"$db":"{mgdb}"}|{"getMore":{big}{big},"collection":"oplog.rs","batchSize":13981010,"maxTimeMS":{int},"$db":"local"}|{"insert":"{noun}","ordered":true,"lsid":{"id":{"$uuid":"{uuid}"}},"$db":"{mgdb}"}|{"q":{mgfilter},"u":{"$set":{"{noun}":{small}}},"multi":{truefalse2},"upsert":false}|{"count":"{noun}s","query":{}}
mgplan|COLLSCAN|IXSCAN { {noun}: 1 }|IXSCAN { _id: 1 }|IXSCAN { {noun}: 1, {noun}: -1 }|IDHACK|EOF|COUNT_SCAN { {noun}: -1 }
mgcounters||,"keysExamined":{int},"docsExamined":{int},"cursorExhausted":true,"nreturned":{count}|,"keysExamined":0,"docsExamined":{big},"hasSortStage":true,"nreturned":{int}|,"ninserted":{count},"keysInserted":{count}|,"docsExamined":{small},"nMatched":{digit},"nModified":{digit},"writeConflicts":{count}
mglocks||"FeatureCompatibilityVersion":{"acquireCount":{"r":{count}}},"Global":{"acquireCount":{"r":{count}}}|"ReplicationStateTransition":{"acquireCount":{"w":{count}}},"Global":{"acquireCount":{"w":{small}},"acquireWaitCount":{"w":{digit}},"timeAcquiringMicros":{"w":{int}}}|"Mutex":{"acquireCount":{"r":{digit}}}
mgclient|{"driver":{"name":"PyMongo","version":"{version}"},"os":{"type":"Linux","name":"Linux","architecture":"x86_64","version":"{version}-{count}-generic"},"platform":"CPython {version}.final.0"}|{"driver":{"name":"nodejs","version":"{version}"},"platform":"Node.js v{version}, LE","os":{"name":"linux","architecture":"x64","version":"{version}","type":"Linux"}}|{"application":{"name":"{noun} {noun}"},"driver":{"name":"mongo-java-driver/sync","version":"{version}"},"os":{"type":"Windows","name":"Windows 10","architecture":"amd64","version":"10.0"}}|{"driver":{"name":"NetworkInterfaceTL","version":"{version}"},"os":{"type":"Linux","name":"Ubuntu","architecture":"x86_64","version":"22.04"}}
mgmechanism|SCRAM-SHA-256|SCRAM-SHA-1|MONGODB-X509|PLAIN
mguser|{user}|app|__system|backup-{noun}|CN={user},OU={noun},O=Example|root
mgautherror|AuthenticationFailed: SCRAM authentication failed, storedKey mismatch|UserNotFound: Could not find user \"{user}\" for db \"{mgdb}\"|BadValue: SCRAM-SHA-256 authentication is disabled
mgunauthorized|{"code":13,"codeName":"Unauthorized","errmsg":"not authorized on {mgdb} to execute command { {noun}: 1, $db: \"{mgdb}\" }"}|{"code":13,"codeName":"Unauthorized","errmsg":"command {noun} requires authentication"}
mgthread|conn{int}|initandlisten|IndexBuildsCoordinatorMongod-{digit}|WTCheckpointThread|OplogApplier-0|ReplWriterWorker-{count}|thread{count}
mgwterror|{small2}|-31803|28
mgwtmessage|[{big}:{six}][{pid}:0x7f{hex8}], file:index-{count}-{big}.wt, WT_CURSOR.insert: [WT_VERB_DEFAULT]: {text}|__posix_open_file:{int}: {path}: handle-open: open: {errno}|[{big}:{six}][{pid}:0x7f{hex8}], log-server: __log_fs_write, {int}: No space left on device
mgbuild|null|{"uuid":{"$uuid":"{uuid}"}}
mgindex|_id_|{noun}_1|{noun}_1_{noun}_-1|created_at_ttl|lsidTTLIndex|{noun}.{noun}_text
mgtimestamp|null|{"$timestamp":{"t":{big},"i":{small}}}|{"$timestamp":{"t":0,"i":0}}
mgkeys|"{noun}":1|"{noun}":1,"{noun}":-1|"_id":"hashed"|"loc":"2dsphere"
mgindexoptions||,"unique":true|,"expireAfterSeconds":{int}|,"sparse":true,"background":true
mgmethod|Hybrid|Foreground|Primary driven
mgphase|scanning collection|inserting keys from external sorter into index|draining writes received during build
mgdisposition|generated|provided
mgoptions|{}|{"capped":true,"size":{big}}|{"validator":{"{noun}":{"$exists":true}}}|{"timeseries":{"timeField":"ts","granularity":"seconds"}}
mgident|index|collection
mghost|{host}:27017|mongo-{digit}.{noun}:27017|{ip}:2701{digit}|localhost:{port}
mgstate|PRIMARY|SECONDARY|STARTUP2|RECOVERING|ROLLBACK|ARBITER|DOWN
mgvote|yes|yes|no
mgvotereason||candidate's data is staler than mine. candidate's last applied OpTime: {mgoptime}, my last applied OpTime: {mgoptime}|already voted for another candidate ({mghost}) this term ({count})|not the same config version
mgsync||{mghost}|{mghost}
mgoptime|{"ts":{"$timestamp":{"t":{big},"i":{small}}},"t":{count}}|{"ts":{"$timestamp":{"t":{big},"i":1}},"t":-1}
mgtoo||,"tooStaleFor":"{mghost}"
mgerror|{"code":6,"codeName":"HostUnreachable","errmsg":"Error connecting to {mghost} ({ip}:27017) :: caused by :: Connection refused"}|{"code":11600,"codeName":"InterruptedAtShutdown","errmsg":"interrupted at shutdown"}|"Connection reset by peer"|{"code":202,"codeName":"NetworkInterfaceExceededTimeLimit","errmsg":"Request {int} timed out, deadline was 2026-11-{day}T{clock}.{three}+00:00, op was RemoteCommand {int} -- target:[{mghost}] db:admin cmd:{ hello: 1 }"}|{"code":0,"codeName":"OK"}|null
mgpool|ReplNetwork|ShardRegistry|TaskExecutorPool-{digit}|ReplicaSetMonitor-TaskExecutor|MirrorMaestro
mgset|rs0|shard{digit}|cfg|{noun}-rs
mgoutcome||,"outcome":{"host":"{mghost}","success":false,"errorMessage":"{mgshorterror}"}
mgtopology|ReplicaSetWithPrimary|ReplicaSetNoPrimary|Unknown
mgservers|{ address: \"{mghost}\", type: \"RSPrimary\", minWireVersion: {small2}, roundTripTime: {int} }|{ address: \"{mghost}\", type: \"Unknown\" }, { address: \"{mghost}\", type: \"RSSecondary\", setName: \"{mgset}\" }|{ address: \"{mghost}\", type: \"Unknown\", error: \"{mgshorterror}\" }
mgchunk|start|commit|error|from
mgdetails|{"min":{mgbound},"max":{mgbound},"from":"{mgshard}","to":"{mgshard}"}|{"step 1 of 6":{small},"step 2 of 6":{int},"step 3 of 6":{int},"note":"success"}|{"note":"aborted","errmsg":"{mgshorterror}"}
mgshard|shard{digit}|rs-{noun}|config
mgbound|{"{noun}":{int}}|{"_id":{"$minKey":1}}|{"_id":{"$maxKey":1}}|{"{noun}":"{user}","{noun}":{int}}
mgoid|{hex12}{hex12}
mgzone||null|"{noun}"|"EU west"
mgshardlist||"{mgshard}"|"{mgshard}","{mgshard}"
mgdefaults|{}|{"defaultReadConcern":{"level":"local"},"defaultWriteConcern":{"w":"majority","wtimeout":{int}},"defaultWriteConcernSource":"implicit","localUpdateWallClockTime":{"$date":"2026-11-{day}T{clock}.{three}Z"}}
mgshorterror|HostUnreachable: {text}|NotYetInitialized: Replication has not yet been configured|ReadConcernMajorityNotAvailableYet|StaleEpoch: epoch mismatch detected for {mgns}
mgport|27017|27018|{port}
mgoptionset|{"net":{"bindIp":"{ip}","port":27017},"replication":{"replSet":"{mgset}"},"storage":{"dbPath":"{path}"}}|{"config":"{path}","systemLog":{"destination":"file","logAppend":true}}|{}
mghugepages|/sys/kernel/mm/transparent_hugepage/enabled|/sys/kernel/mm/transparent_hugepage/defrag
mghugevalue|always|madvise|always
mgsignal|Terminated|Interrupt|Hangup
mguid|0|{int}
mgexit|0|0|14|100|{count}
mgverb|find|aggregate|distinct
mgstats|{"stage":"COLLSCAN","nReturned":{int},"works":{int},"needYield":{small}}|{"stage":"SORT","nReturned":0,"memLimit":{big},"type":"simple","inputStage":{"stage":"IXSCAN","nReturned":{int}}}
mgwrite|update|remove|insert
mgfilter|{}|{"_id":{"$oid":"{mgoid}"}}|{"{noun}":"{user}"}|{"{noun}":{"$gte":{"$date":"2026-11-{day}T{clock}Z"},"$lt":null}}|{"$or":[{"{noun}":{small}},{"{noun}":{"$in":["{user}","{user}"]}}]}
mgreadts|Timestamp({big}, {small})|Timestamp(0, 0)
mgtermination|committed|aborted|committed
pgstates|{int} active+clean|{int} active+clean|{int} active+clean|{count} active+undersized+degraded, {int} active+clean|{small} active+clean+scrubbing+deep, {int} active+clean|{small} peering, {count} stale+active+clean, {int} active+clean|{int} unknown|{small} active+recovery_wait+degraded, {small} active+remapped+backfilling, {int} active+clean
cephsize|{int} GiB|{count} TiB|{count}.{digit} MiB|{digit}.{digit} PiB|{int} KiB|0 B
cephrate|{int} KiB/s rd, {digit}.{digit} MiB/s wr, {int} op/s|{int} B/s wr, {digit} op/s|{cephsize}/s, {int} objects/s recovering|{count} MiB/s rd, {int} op/s
cephdegraded|{int}/{big} objects degraded ({float}%)|{int}/{big} objects misplaced ({float}%)|{int}/{big} objects degraded ({float}%); {small}/{big} objects unfound (0.000%)
cephmon|a|b|c|{node}|{host}|ceph-mon{digit}
monrole|leader|peon|probing|electing|synchronizing
cephcmd|{"prefix": "osd tree", "format": "json"}|{"prefix": "config-key set", "key": "mgr/cephadm/host.{node}"}|{"prefix": "status"}|{"prefix": "osd pool set", "pool": "{cephpool}", "var": "pg_num_actual", "val": "{int}"}|{"prefix":"df", "format":"json"}|{"prefix": "auth get", "entity": "{cephentity}"}|{"prefix": "pg deep-scrub", "pgid": "{pgid}"}
monpaxos|active|updating|recovering|refresh
cephaddr|[v2:{ip}:{port}/{big},v1:{ip}:{port}/{big}]|v2:{ip}:3300/0|{ip}:{port}/{big}|v1:{ip}:0/{big}
pgid|{count}.{hex2}|{digit}.{hex2}|{count}.{hex}s{digit}|1.0
pginfo|v {int}'{int} ({int}'{int},{int}'{int}] local-lis/les={int}/{int} n={count} ec={int}/{count} lis/c={int}/{int} les/c/f={int}/{int}/0 sis={int}|empty local-lis/les={int}/{int} n=0 ec={int}/{count} lis/c={int}/{int} les/c/f={int}/{int}/0 sis={int} pruub={float}
pgrole|[{osdset}] r={digit} lpr={int} crt={int}'{int} lcod {int}'{int} mlcod 0'0|[{osdset}]/[{osdset}] r=-1 lpr={int} pi=[{int},{int})/{digit} crt={int}'{int} lcod 0'0|[{osdset}] r={digit} lpr={int} crt=0'0 mlcod 0'0
pgflags|active+clean|peering|unknown NOTIFY|inactive|active+undersized+degraded mbc={{}}|
osdset|{small},{count},{count}|{count},{count}|{small},{count},{count}|{count}||{count},2147483647,{count}
osdnumber|{count}|{small}|{count}|-1
cephrole|{digit}|-1
pgtransition|Primary|Stray|Reset
scrubkind|scrub|scrub|deep-scrub|repair
pgobject|{count}:{hex8}:::rbd_data.{hex12}.{hex16}:head|{count}:{hex8}:::{hex12}.{hex8}:head|{digit}:{hex8}::{user}:{noun}.{int}:{hex2}|{count}:{hex8}:::rbd_header.{hex12}:head
sciderror|candidate had a read error|size {int} != size {int} from auth oi|data_digest 0x{hex8} != data_digest 0x{hex8} from auth oi|missing attr _|candidate had a stat error
osdops|read {int}~{int}|write {int}~{int} in={int}b|stat|call rbd.get_id|set-alloc-hint object_size 4194304 write_size 4194304,write {int}~{int} in={int}b|watch ping cookie {big}
snapc|0=[]|{hex2}=[{hex2},{hex2}]|{int}=[{int}]
osdflags|ondisk+write+known_if_redirected|ondisk+read+rwordered+known_if_redirected|ack+read+balance_reads|ondisk+write+full_try
slowstate|waiting for sub ops|waiting for subops from {osdset}|queued for pg|delayed|started|waiting for rw locks
healthword|failed|update
healthtext|{small} osds down|1 osds down|Reduced data availability: {count} pgs inactive, {count} pgs peering|Degraded data redundancy: {int}/{int} objects degraded ({float}%), {count} pgs degraded|{count} slow ops, oldest one blocked for {int} sec, osd.{count} has slow ops|{count} slow ops, oldest one blocked for {int} sec, daemons [osd.{count},osd.{count}] have slow ops.|clock skew detected on mon.{cephmon}|mons {cephmon},{cephmon} are low on available space|1 pool(s) nearfull|{noun} flag(s) set
healthcode|OSD_DOWN|PG_AVAILABILITY|PG_DEGRADED|SLOW_OPS|MON_CLOCK_SKEW|MON_DISK_LOW|POOL_NEARFULL|OSDMAP_FLAGS
cephmgr|a|x|{node}.{letter}{letter}{letter}{letter}{letter}{letter}|{host}
cephage|{count}m|{count}s|{small}h|{small}d|{small}w|{digit}y
cephmgrs|{cephmgr}|{cephmgr}, {cephmgr}
fsmap|cephfs:1 {0={mdsname}=up:active} {small} up:standby|cephfs:{digit} {0={mdsname}=up:active,1={mdsname}=up:rejoin}|cephfs:1/1 {0={mdsname}=up:replay(laggy or crashed)}|{noun}:1 {0={mdsname}=up:active} 1 up:standby-replay|
crush|root=default,host={node}|root=default,rack=r{count},host={node}|root=ssd,datacenter={noun},host={host}
crushtype|host|host|osd|rack
cephmons|{cephmon}|{cephmon},{cephmon},{cephmon}|{cephmon},{cephmon}
auditfrom|mgr.{int} {cephaddr}|client.{int} {cephaddr}|client.? {ip}:0/{big}|admin socket|osd.{count}
cephentity|client.admin|mgr.{cephmgr}|client.{noun}|osd.{count}||client.rgw.{noun}.{node}
heartside|ever on either front or back, first ping sent {cephtime} (oldest deadline {cephtime}) |||
cephtime|2026-11-{day}T{clock}.{six}+0000|2026-11-{day}T{clock}.{six}+0100
slowop|osd_op(client.{int}.0:{int} {pgid} {pgobject} [{osdops}] snapc {snapc} {osdflags} e{int})|osd_repop(client.{int}.0:{int} {pgid} e{int}/{int})|pg_query({pgid} epoch {int})
numaif|public|cluster
numadev|eth{digit}|bond0|{noun}.{count}|
cephpeer|clients|mons|osds
bluemeta|old nid_max|old blobid_max|ondisk_format|min_alloc_size
blueop|kv_sync|kv_commit|_txc_committed_kv|submit_transact|kv_final|_collection_list
csum|crc32c/0x{digit}000|xxhash64/0x1000|crc32c/0x8000
rotational|rotational|non-rotational
discard|supported|not supported
bluefsfree|{cephsize}|no space
bluefsalloc|block|bluefs-db|bluefs-wal
cfname|default|default|P|p-{digit}|O-{digit}|m-{digit}|L
coldhot|kUnknown|kHot
rocksevent|table_file_creation|compaction_started|compaction_finished|flush_started|table_file_deletion|flush_finished
rocksjson|"file_number": {int}, "file_size": {big}, "table_properties": {"data_size": {big}, "num_entries": {int}}|"files_L0": [{int}, {int}, {int}], "files_L1": [{int}], "score": {digit}, "input_data_size": {big}|"num_memtables": {digit}, "num_entries": {int}, "total_data_size": {big}, "flush_reason": "Write Buffer Full"|"file_number": {int}|"lsm_state": [{digit}, {digit}, {digit}, 0, 0, 0, 0]
rocksstate| started|: memtable #{digit} done|
rocksoption|max_open_files|write_buffer_size|compression|merge_operator|compaction_readahead_size|comparator|wal_dir|max_total_wal_size
rocksvalue|{big}|-1|{digit}|NoCompression|leveldb.BytewiseComparator|.T:int64_array.b:bitwise_xor|None|{path}||0x5{hex12}
cephdigit|1|2
cephmsgr|{cephaddr}|{cephaddr}|-
cephport|-1|{port}|6789
connstate|OPENED|START_CONNECT|BANNER_ACCEPTING|STANDBY|SESSION_ACCEPTING|NONE|THROTTLE_DONE
mdsname|{node}|cephfs.{node}.{letter}{letter}{letter}{letter}{letter}{letter}|a|{host}
mdsstate|up:active|up:replay|up:rejoin|up:standby|up:reconnect|up:boot|up:stopping
mdscaps|pAsLsXsFs|pAsxLsXsxFsxcrwb|pAsLsXsFscr|p|-
cephpool|rbd|.mgr|cephfs.{noun}.data|default.rgw.buckets.index|{noun}|volumes-{noun}
cephadm|Failed to apply osd.{noun} spec DriveGroupSpec.from_json(yaml.safe_load('''service_type: osd'''))|cephadm exited with an error code: {digit}, stderr: {text}|host {node} `cephadm {noun}` failed: {text}|unable to calc client keyring client.admin placement PlacementSpec(label='_admin'): Cannot place : No matching hosts for label _admin
cephuser|ceph|root|{user}
cephrelease|quincy|reef|pacific|squid
cephprocess|ceph-osd|ceph-mon|ceph-mgr|ceph-mds|radosgw
cephkeyrings|{path}|/etc/ceph/ceph.client.{noun}.keyring,/etc/ceph/ceph.keyring,/etc/ceph/keyring|/var/lib/ceph/osd/ceph-{count}/keyring
cephsignal|Terminated|Hangup|Interrupt
cephsender|Kernel ( Could be generated by pthread_kill(), raise(), abort(), alarm() ) |killall -q -1 ceph-mon ceph-mgr ceph-mds ceph-osd |/usr/bin/systemd |<unknown>
s3user|{user}|anonymous|{noun}${user}|-
s3path|/{noun}/{noun}.tar.gz|/{noun}/?prefix={noun}%2F&max-keys={int}|/|/{noun}/{uuid}?partNumber={count}&uploadId=2~{hex16}|/{noun}/{user}s%20{noun}.pdf|/admin/usage?format=json
s3status|200|206|204|403|404|500|400
s3range|-|-|bytes={int}-{big}|{int}-
s3agent|aws-cli/2.{count}.{digit} Python/3.11.{digit} Linux/{version} exe/x86_64|Boto3/1.{count}.{digit} md/Botocore#1.{count}.{digit} ua/2.0|curl/8.{digit}.0|MinIO (linux; amd64) minio-go/v7.0.{count}|-|rclone/v1.{count}.{digit}|
s3latency|{digit}.{three}{six}s|0.{three}{six}s|{count}.{three}{six}s
s3op|get_obj|put_obj|list_buckets|list_bucket|delete_obj|init_multipart|stat_bucket
s3opstatus|0|0|-{count}|-2|1
s3auth|rgw::auth::s3::S3AnonymousEngine|rgw::auth::s3::LocalEngine|rgw::auth::s3::AWSAuthStrategy
s3error|-2028 (InvalidAccessKeyId)|-13 ({errno})|-{int}|ret=-1, reason=SignatureDoesNotMatch
paytrace|{hex16}|{hex16}|{hex16}/{digit}|-
paymerchant|M{six}|M{six}|{noun}-{paycountry}|"{user}'s {noun}"|acct_{hex12}
payamount|{count}.{two} {paycurrency}|{int}.{two} {paycurrency}|{paycurrency} {int},{three}.{two}|{int} JPY|0.00 {paycurrency}|-{count}.{two} {paycurrency}
paypan|4{five}******{four2}|5{five}******{four}|3{five}*****{four}|tok_{hex8}|"4{three} **** **** {four}"
four|{two}{two}
payscheme|VISA|VISA|MASTERCARD|AMEX|girocard|CB|Bancontact|UnionPay|"Diners Club"
payresult|APPROVED ({hex6})|APPROVED ({six})|DECLINED 05 (Do not honour)|DECLINED 51 (Insufficient funds)|SOFT_DECLINE 65|TIMEOUT|ERROR {text}|PARTIALLY_APPROVED {payamount}|DECLINED {two}
paycurrency|EUR|EUR|USD|GBP|CHF|PLN
payacquirer|{noun}pay|Bank of {noun}|acq-{digit}|EUROLINE|{user}bank EU
paymti|0100|0110|0400|0420|0800|0200
paycents|00000000{four}|0000000{five}|0000{four}{four}
payterminal|T{six}|T{six}|{five}{three}|ECOM{four}|" "
paydata|{int}{noun}|  {four}|{six}{user}
payde39|00|00|05|51|91|N7|
payapproval|{six}|{hex6}|{six}|      |-
threeds|2.1.0|2.2.0|2.2.0|1.0.2
payeci|05|06|07|02|null
paytrans|Y|N|C|A|U|R
paynulluuid|{uuid}|{uuid}|null|N/A
paydelay|{int}ms|{count}s|{count} s|{digit}m{count}s|PT{count}S|{small} minutes|1 minute|{small} days|1 day|{small} h
payrefusal|already captured|amount exceeds authorization by {payamount}|expired on {payexpiry}|unknown authorization|{text}
payreference||, reference {noun}-{int}|, reference "{user} {int}"|, reference null
payidem|{uuid}|{noun}_{int}|ord-{int}-{digit}|"{user}/{int}"
payrules|||{payrule}|{payrule}, {payrule}|{payrule}, {payrule}, {payrule}
payrule|velocity_card|geo_mismatch|bin_country|night|amount>{int}|"new device"|email_age
paydecision|ACCEPT|ACCEPT|REVIEW|REJECT|CHALLENGE
payattempts|attempts|attempts|attempt|declines
payentity|card {paypan}|ip {ip}|device {hex12}|merchant {paymerchant}|email {user}***@{host}
payactor|{user}|{user}|system|{user}@example.org|api key {hex8}|cron "{noun}"|rule {payrule}
payfree|{text}|lost card|stolen|customer {user} asked|see ticket {int}|connection reset by peer|"{text}"|KYC documents expired|n/a
paytoken|tok_{hex16}|{uuid}|card_{hex12}
payexpiry|{hour}/2{digit}|12/27|2026-11-{day}|null
payreason|| by {payactor}| (expired)|: {payfree}
payhook|https://{host}/hooks/{noun}|https://{host}:{port}/{noun}|http://{ip}/callback.php?m={int}|https://{user}.example.org/
payhttp|200|200|204|404|500|503|timeout|-
paynext|none|{count}s|{digit}h{count}m|2026-11-{day}T{clock}Z|exhausted
paybody|{json}|{json}||<html><body>{text}</body></html>|ok|{"received":true}
paysig|t={big},v1={sha64}|sha256={sha64}||null
payqueue|queue size {small2}|queue empty before|{small2} ahead of it
paycountry|DE|FR|NL|US|GB|null|??
paybin|{payscheme} {paycountry} debit|{payscheme} {paycountry} credit "{noun} bank"|unknown|{payscheme} prepaid, issuer {user}bank
paydelta|no change|{small2} added|{small2} added, {small2} removed|first version
payhsm|hsm{digit}|{host}:1500|"{noun} {digit}"
payhsmcmd|CA|M6|EE|NC|translate PIN block|verify CVV
payhsmcode|00|00|01|15|no response
paykey|ZPK.{payacquirer}|TMK.{payterminal}|LMK {digit}|kek-{noun}-{int}
paykcv|{hex6}|{hex6}|none
paybatch|{six}|B2026{four}-{small}|{payday}/{digit}
paytx|transactions|transactions|transaction
payfile|{noun}_{payday}.csv|CAMT.053_{big}.xml|SETL{six}.{three}|{noun} {payday} (final).xlsx
paysftp|sftp://{user}@{host}/in|{host}|s3://{noun}-settlement/{payday}|mailbox "{noun}"
payout|po_{hex12}|PO-{int}|{big}
payiban|DE{two}****{four}|GB{two} **** **** {four}|FR76****{four}|acct {paymerchant}
paystate|sent|pending|failed: {payfree}|returned by bank (AC0{digit})|settled
payhold|reserve of {percent} % not covered|negative balance {payamount}|compliance review by {user}|missing {noun}
paycase|CB-{int}|{big}|cb_{hex8}
paycbreason|10.{digit}|4853|"goods not received"|fraud|null
paydue|2026-12-{day}|in {small2} days|today|null
paycbaction|accepted|represented|won|lost|withdrawn by issuer
payrate|1.{two}{two}|0.{six}|{int}.{two}|1
payfx|ECB|{noun}fx|cache|"{noun} Markets"
paychange|{noun}: {payold} -> {payold}|payout.schedule: daily -> weekly|{noun}: {payold} -> {payold}, {noun}: {payold} -> {payold}|added ip {ip}
payold|null|true|false|{int}|"{noun}"|[]|[{paycurrency}, {paycurrency}]
payrisk|low|medium|high|unrated
payupdate|ok|failed: {text}|at next boot|in {paydelay}
payday|2026-11-{day}|2026-11-{day}|202611{two}|yesterday
paydiff|0.00|0.00|{payamount}|-{count}.{two}
payaccount|{int}/{noun}|merchant:{paymerchant}|fees|reserve:{noun}|clearing {payscheme}
paymemo||fee {percent}%|payout po_{hex12}|{text}|correction by {user}
payjob|settle-{noun}|fx-refresh|webhooks|"{noun} export"|expire_tokens
payjobresult|{int} items|no items|1 item|failed after {int} items: {text}|skipped: lock held by {host}
payvalidation|amount must be positive|unknown currency "{noun}"|field '{noun}' is required|signature expired {paydelay} ago|JSON: unexpected token at {int}
paysql|{sql}|{sql}|COMMIT|with x as (select * from {noun}) select count(*) from x
payflag|{noun}_v{digit}|use-{noun}|3ds.{noun}
paymerchants|{paymerchant}|{paymerchant}, {paymerchant}|*
payinflight|{small2} requests|1 request|no requests
payregion|eu-west-{digit}|eu-central-1|local|null
bagscanner|ATR{small2}|ATR{small2}|{bagzone}.ATR{digit}|HHT {user}
baglpc|0{digit}20{six}|02{two}{six}|2220{six}|00000{five}|?
bagread|OK|OK|OK|NOREAD|MULTI|CONFLICT
bagind|{five}|{five}|{four}|{five}.{digit}|-
bagpos|{int}|{int}|{small}|-{count}
bagzone|T{digit}.C{three}|T{digit}.C{three}|T{digit}.S{two}|EBS.{two}|OOG-{digit}|T{digit}.C{three}.{digit}
bagdt|{digit}.{two}s|{count}.{digit}s|{int}ms|{int} ms|{small} min
bagflight|LH{four2}|AF{three}|BA{four}|U2{four}|KL{three}A|XX0000|OS{two}
bagdest|CHUTE{small2}|MU{two}|EBS|MES|PROBLEM|lateral {small2}|DUMP {digit}
bagreason|NORMAL|NORMAL|NORMAL|NO_FLIGHT|TOO_LATE|CHUTE_FULL|SECURITY REJECT|UNKNOWN_TAG|NO_BSM
bagplc|PLC{small2}|{bagarea}-PLC{digit}|10.{small}.{octet}.{octet}
bagbool|TRUE|FALSE|1|0|{int}
bagcycle|{count} ms|{count}.{digit} ms
plcmode|RUN|STOP|STARTUP|RUN-RESET|HOLD
plcevent|{hex4}|{hex4}|35{hex2}
plctext|module removed, slot {small}|CPU: I/O access error, reading, address P{int}|PROFINET IO: station failure, device {small2}|battery low|{text}
bagms|{count}|-{count}|{int}
bagconv|C{three}|C{three}|C{three}.{digit}|X-ray belt {digit}|MU{two}-T
bagstop|die-back|emergency stop {bagestop}|drive fault|jam at {bagcell}|operator {bagoperator}|fire alarm|die-back|full
bagspeed|{digit}.{two}|{digit}.{digit}|0.00|{count}.{digit}
bagdrive|M{three}|M{three}.{digit}|{bagconv}-M1|{bagconv}/VFD
bagfault|{five}|{four}|{count}
bagfaulttext|overcurrent|motor temperature|undervoltage DC link|encoder signal lost|PROFINET setpoint time-out|I2t
bagoperator|{user}|{user}|op{small2}|Maintenance {digit}|SYSTEM|{user}@{bagstation}
plcword|16#{hex4}|16#{hex4}|0000_0110_0011_0111
bagcell|B{three}|{bagconv}.B{digit}|B{three}a|LS-{three}
bagprio|HIGH|MED|LOW|INFO
bagarea|T1|T2 Check-in|Hall B|EBS|Transfer East|Arrivals {digit}
bagalarm|jam on {bagconv}|{bagdest} full|{bagplc} not reachable|motor protection {bagdrive} tripped|{small2} no-reads in {count} min|door {bagdoor} open|noise level {count} dB
bagstation|WS{small2}|CCR-{digit}|MES {digit}|tablet {user}|{host}
bagbsm|{six}|{six}|BSM{four}/{two}
bagday|{day}NOV|{day}NOV|2026-11-{day}|today
bagpax|{bagname}/{bagtitle}|{bagname}/{bagtitle} {bagname}|1{bagname}/{bagtitle}|(no name)
bagname|SMITH|MUELLER|DE LA CRUZ|NOWAK|OBRIEN|KIM
bagtitle|ANNMRS|BOBMR|J|MAXMSTR|
bagclass|Y|C|F|J|Y|CREW
bagonward|{bagflight}/{bagday}|{bagflight}/{bagday}/JFK, {bagflight}/{bagday}/SFO
bagelement|V|F|N|O|P|S|
bagraw|.V/1L{letter}{letter}|.F/{bagflight}/{bagday}/|.N/0{five}|=TEXT {noun}|
bagloc|loaded|seen at {bagzone}|off-loaded|in {bagtray}|not loaded
bagauth|AUTH|NAL {text}|by {bagoperator}|
bagqueue|MQ.BSM.IN|MQ.{noun}|SITA type B|"{noun} out"
bagqueuestate|{small2} messages|empty|depth {int}, oldest {bagdt}|no consumer|reconnecting to {hostport}
bagdests|{bagdest}|{bagdest}, {bagdest}|{bagdest}, {bagdest}, {bagdest}
baggate|A{small2}|B{small2}|{count}|-
bagdelay|late arrival of aircraft|weather|crew|code {two}|{bagreason}|technical ({text})
bagsource|AODB|AODB|file {noun}.xml|{bagoperator}
bageds|EDS{small}|EDS{small}|CTX-{digit}|X-ray {bagarea}
bagverdict|CLEAR|CLEAR|REJECT|SUSPECT|UNDECIDED
bagcal|passed|passed|failed at step {small}|due in {small} days|overdue
bagimage|{big}.dcs|IMG{six}|{uuid}
bagloggedon|on to|off
baglane|{small2}|L{two}|{digit}{letter}
bagtray|T{four}|T{four}|tray {int}|OOG{two}
bagentry|flight {bagflight}|tag {baglpc}|airline {letter}{letter}|destination {bagdest}|nothing
bagwaiting|1 bag waiting|{small2} bags waiting|no bags waiting
bagsorter|synchronised|speed {bagspeed} m/s|{small} trays without load cell|carrier {int} disabled by {bagoperator}|induction {digit} off
bagdiverter|paddle|blade|vertical
bagendpoint|opc.tcp://{ip}:4840|opc.tcp://{host}:4840/{noun}|opc.tcp://{bagplc}:4840
opcstatus|Good|Good|BadTimeout|BadNoSubscription|UncertainLastUsableValue|0x80{six}
opctag|{bagconv}.Speed|"{bagplc}"."Cmd".{noun}|{bagarea}/{noun}/SP|Sorter{digit}.MaxRecirc|i={int}
opcvalue|{float}|{int}|true|false|"{noun}"|[{small}, {small}]|null|0
opctype|Boolean|Int32|Float|String|UInt16[]
opcresult|Good|Good|BadUserAccessDenied|BadTypeMismatch|BadNodeIdUnknown after {bagdt}
bagmeter|meter {ip}|gateway {host}|chiller {digit}
modbus|exception {digit} (illegal data address {int})|time-out after {bagdt}|read {int}..{int} ok|no connection|function 0x{hex2} not supported
bagrole|operator|viewer|engineer|administrator
bagcomment|"{text}"|{text}|as agreed with {user}|test|
bagmode|automatic|manual by {bagoperator}|energy saving|start-up ({percent} %)|local|off
bagestop|ES{three}|ES{three}|pull cord {bagconv}|ES{three}.{digit}
bagdoor|FD{two}|FD{two}|{bagarea}/FD{digit}
bagconvs|{bagconv}|{bagconv}, {bagconv}|none|{bagconv}, {bagconv}, {bagconv}
bagserver|SRV{digit}|SAC-{digit}|{host}
bagredundancy|is primary|is standby|switchover requested by {bagoperator}|lost partner for {bagdt}|synchronising, {percent} %
bagreport|"No-read rate"|throughput|{noun}_{noun}|alarms by {bagarea}
bagreportstate|printed|sent to {user}@{host}|failed: {text}|empty|exported as {noun}.pdf
bagkg|{count}.{digit}|{count}.{digit}|{count}|0.0|---
bagshift|1|2|3|night|A/{digit}
esshard|[{esindex}][{digit}]
esbracket|[{esindex}]|[{esindex}], [{esindex}]
esmounts|[{esmount}]|[{esmount}, {esmount}]
myid|{int}|{int}|{int}{three}
mydb|shop|shop|shop|crm|reports|unconnected
myuser|shop_app|shop_app|crm|reports_ro|root|repl|monitor
myhost|10.20.3.{octet}|10.20.3.{octet}|web{digit}.shop.internal|localhost
myhost2|10.20.3.{octet}|%|web{digit}.shop.internal
mynet|an error reading communication packets|an error reading communication packets|timeout reading communication packets|an error writing communication packets|a packet bigger than 'max_allowed_packet' bytes
mypass|YES|YES|YES|NO
mydns|Name or service not known|Name or service not known|Temporary failure in name resolution
mysecs|{digit}.{six}|{digit}.{six}|{count}.{six}
mysqlcode|0|0|0|1317|3024|1205
mybinlog|binlog.000{three}|mysql-bin.00{four}
mychannel||||group_replication_applier|reports
myserver|db1.shop.internal|db2.shop.internal|db3.shop.internal
mygtid|{uuid}:{int}{three}|{uuid}:{int}{three}|ANONYMOUS
myerror|Could not execute Write_rows event on table {mydb}.{mytable}; Duplicate entry '{int}' for key '{mytable}.PRIMARY', Error_code: 1062; handler error HA_ERR_FOUND_DUPP_KEY|Could not execute Update_rows event on table {mydb}.{mytable}; Can't find record in '{mytable}', Error_code: 1032; handler error HA_ERR_KEY_NOT_FOUND|Lock wait timeout exceeded; try restarting transaction|Deadlock found when trying to get lock; try restarting transaction|Unknown column '{mytable}_id' in 'field list'
mytable|orders|orders|order_items|customers|carts|sessions|stock|payments|audit_log|mails
myconnect|Can't connect to MySQL server on '{myserver}:3306' (111)|Can't connect to MySQL server on '{myserver}:3306' (113)|Host '10.20.3.{octet}' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'|Access denied for user 'repl'@'{myhost}' (using password: YES)
myindex|PRIMARY|PRIMARY|idx_{mytable}_customer|idx_created_at|uk_sku
mylock|X locks rec but not gap|X locks rec but not gap|X|S|X locks gap before rec insert intention|X insert intention
mytrx|1|2|2
mysource|btr0sea.cc|row0ins.cc|trx0trx.cc|dict0dict.cc|fil0fil.cc|lock0lock.cc
mylatch|SX-lock|S-lock|X-lock|Mutex
mydir|/var/lib/mysql|/data/mysql|.
mydir2|/usr/sbin|/usr/sbin|/usr/libexec
mymem|{int}.000000M|{small}.000000G|128.000000M
myoserr|28|28|13|2|122
myplugin|mysql_native_password|caching_sha2_password|sha256_password
mysyntax|NO_ZERO_DATE|SSL_CIPHER|--skip-host-cache|expire-logs-days|binlog_expire_logs_seconds|log_slave_updates|log_replica_updates
mydistro||-0ubuntu0.22.04.1|-log|
mysocket|/var/run/mysqld/mysqld.sock|/var/lib/mysql/mysql.sock
mycomment|MySQL Community Server - GPL|MySQL Community Server - GPL|(Ubuntu)|Source distribution
mystop|SHUTDOWN from user root|SHUTDOWN from user <via user signal>|SHUTDOWN from user <via user signal>
mypem|ca.pem|ca.pem|/etc/mysql/ssl/ca.pem
mybind|*|0.0.0.0|127.0.0.1|10.20.3.{octet}
myevent|purge_sessions|rotate_partitions|refresh_report_{digit}
myevres|ended successfully|ended successfully|started
mymembers|{myserver}:3306|{myserver}:3306, {myserver}:3306|db1.shop.internal:3306, db2.shop.internal:3306, db3.shop.internal:3306
onoff5|ON|ON|OFF
auid|17643{five}.{three}:{int}{two}
ausys|59|59|59|257|257|2|42|87|90|82|105|268|313|165|{count}
auyes|yes|yes|yes|yes|no
auexit|0|0|0|0|3|{small}|-13|-2|-1
auarg|0|0|7f{hex8}{hex2}|55{hex8}{hex2}|ffffff9c|{digit}|{hex4}
auargs|a0="ls" a1="-la"|a0="/bin/sh" a1="-c" a2="{aucmdtext}"|a0="cat" a1="{auetc}"|a0="systemctl" a1="{auverb}" a2="{auunit}"|a0="sudo" a1="-i"|a0="curl" a1="-s" a2="http://localhost:{port}/health"|a0="grep" a1="-c" a2="processor" a3="/proc/cpuinfo"|a0="bash" a1="-c" a2={hexupper2}
aucmdtext|test -x /usr/sbin/anacron|command -v debian-sa1|ps aux|df -h /var|/opt/backup/run.sh {noun}
auverb|restart|status|reload|is-active
auetc|/etc/passwd|/etc/passwd|/etc/hosts|/proc/meminfo|/etc/shadow
hexupper2|636174202F657463|2F62696E2F7368002D63|{hexuppers}
hexuppers|2F7573722F62696E2F{hexup4}|7073{hexup4}{hexup4}|746172{hexup4}
hexup4|6C73|2D61|6370|6D76|0061|2F74
auuid|1000|1000|1001|1002|0|4294967295|4294967295|4294967295
auuid2|0|0|0|0|1000|33|48|74|998
autty|(none)|(none)|pts0|pts1|tty1
auses|4294967295|4294967295|{int}|{int}|{count}
aucomm|bash|sshd|sudo|cron|crond|ls|cat|systemctl|useradd|python3|nginx|chmod|rm|vim|dpkg|runc|iptables
auexe|/usr/bin/bash|/usr/sbin/sshd|/usr/bin/sudo|/usr/sbin/crond|/usr/bin/ls|/usr/bin/cat|/usr/bin/systemctl|/usr/sbin/useradd|/usr/bin/python3.9|/usr/sbin/nginx|/usr/bin/chmod|/usr/bin/rm|/usr/bin/vim
ausubj|unconfined|unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023|unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023|system_u:system_r:sshd_t:s0-s0:c0.c1023|system_u:system_r:crond_t:s0-s0:c0.c1023|system_u:system_r:init_t:s0
aukey|(null)|(null)|"exec"|"exec"|"identity"|"perm_mod"|"time-change"|"access"|"delete"|"sshd_config"
auname|"/etc/passwd"|"/etc/shadow"|"/usr/bin/ls"|"/lib64/ld-linux-x86-64.so.2"|"/usr/bin/sudo"|"/etc/ssh/sshd_config"|"/var/log/{noun}.log"|"/tmp/{noun}.{hex6}"|"/home/{user}/.bash_history"|(null)|2F746D702F61206200
audev|fd:00|fd:00|fd:01|08:01|00:15|103:02
aumode|0100755|0100755|0100644|0100600|040755|0104111|0120777
auobj|system_u:object_r:bin_t:s0|system_u:object_r:shell_exec_t:s0|system_u:object_r:ld_so_t:s0|system_u:object_r:passwd_file_t:s0|unconfined_u:object_r:user_home_t:s0|system_u:object_r:etc_t:s0
aunametype|NORMAL|NORMAL|NORMAL|PARENT|CREATE|DELETE|UNKNOWN
aucwd|/root|/root|/home/{user}|/|/|/var/www|/etc/ssh|/opt/backup
autitle|{hexupper2}|{hexupper2}|{hexupper2}|"bash"|"(systemd)"|"/usr/sbin/crond"|"sudo"
aupam|pam_unix|pam_unix|pam_keyinit,pam_limits,pam_systemd,pam_unix|pam_selinux,pam_loginuid,pam_keyinit,pam_namespace,pam_keyinit,pam_limits,pam_systemd,pam_unix,pam_umask,pam_lastlog|pam_permit|pam_env,pam_unix|?
auacct|root|root|root|{user}|ann|bob|deploy|postgres|nagios
auauth|/usr/sbin/sshd|/usr/sbin/sshd|/usr/bin/sudo|/usr/sbin/crond|/usr/sbin/crond|/usr/bin/su|/usr/lib/systemd/systemd
auhost|?|?|{ip}|10.0.8.{octet}|bastion.corp.example.com
auaddr|?|?|{ip}|10.0.8.{octet}
auterm|ssh|ssh|cron|cron|/dev/pts/0|/dev/pts/1|pts/0|?
aures|success|success|success|success|failed
auunit|sshd|crond|nginx|chronyd|logrotate|dnf-makecache|systemd-tmpfiles-clean|user@{auuid}|fstrim|postgresql|sysstat-collect|docker
aucmd|"/usr/bin/systemctl {auverb} {auunit}"|73797374656D63746C{hexup4}{hexup4}|636174{hexup4}|"/bin/bash"|"ls"|6A6F75726E616C63746C{hexup4}
aulogin|acct="{auacct}"|acct="{auacct}"|id={auuid}|acct=28696E76616C6964207573657229|acct="(unknown)"
auauthop|PAM:authentication|PAM:authentication|password|pubkey|key
audir|from-server|from-client
aucipher|aes256-gcm@openssh.com|chacha20-poly1305@openssh.com|aes128-ctr
auksize|256|256|512|128
aumac|<implicit>|<implicit>|hmac-sha2-256-etm@openssh.com
aupfs|curve25519-sha256|curve25519-sha256@libssh.org|ecdh-sha2-nistp256
auserver|10.0.8.11|10.0.8.12|10.0.8.13
ausaddr|02000050{hex8}0000000000000000|0200{hex4}{hex8}0000000000000000|01002F7661722F72756E2F6E7363642F736F636B657400|0A00{hex4}00000000{hex16}{hex16}00000000|100000000000000000000000
auperm|read|read|open|write|getattr|name_connect|execute|read open|search
auavc|name="{noun}" dev="dm-0" ino={int}|path="/var/www/{noun}/index.php" dev="dm-0" ino={int}|dest={port}|name="{noun}.sock" dev="tmpfs" ino={int}
auscon|system_u:system_r:httpd_t:s0|system_u:system_r:httpd_t:s0|system_u:system_r:postfix_t:s0|unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023|system_u:system_r:container_t:s0:c{int},c{int}
autcon|unconfined_u:object_r:user_home_t:s0|system_u:object_r:default_t:s0|system_u:object_r:http_port_t:s0|system_u:object_r:var_t:s0
auclass|file|file|dir|tcp_socket|sock_file|lnk_file
autable|filter|nat|mangle|firewalld:{digit}
aufamily|2|2|10|1
aunft|nft_register_rule|nft_register_chain|nft_unregister_table|xt_replace|nft_register_table
aunftcomm|iptables|firewalld|nft|iptables-restor|dockerd
ausig|11|11|6|5|31
audevice|eth0|veth{hex7}|virbr0|docker0|br-{hex12}
aubpf|LOAD|LOAD|UNLOAD
ausw|install|update|remove
aurpm|{package}-{version}-{digit}.el9.x86_64|kernel-core-{version}-{int}.el9.x86_64|openssl-libs-{version}-{digit}.el9.x86_64
auntp|offset|freq|status|adjust|tick
aumod|xt_conntrack|nf_nat|overlay|br_netfilter|wireguard|veth
rbverb|GET|GET|GET|GET|POST|POST|PATCH|DELETE|PUT
rbpath|/|/products/{int}|/products/{int}|/products?page={small2}|/cart|/cart/items|/orders/{int}|/api/v1/products/{int}|/api/v1/stock?sku={letter}{letter}-{four}|/users/sign_in|/admin/orders?q%5Bstate_eq%5D={rbstate}|/search?q={rbterm}|/up|/categories/{rbterm}
rbstate|paid|shipped|cancelled
rbterm|shoes|jacket|lamp|red+dress|bike|{noun}
rbtime|2026-11-{day} {clock} +0000
rbaction|ProductsController#show|ProductsController#show|ProductsController#index|CartsController#show|CartItemsController#create|OrdersController#create|OrdersController#show|Api::V1::StockController#index|Api::V1::ProductsController#show|Users::SessionsController#create|Admin::OrdersController#index|SearchController#index|HealthController#show
rbformat|HTML|HTML|HTML|JSON|JSON|TURBO_STREAM|*/*
rbstatus|200 OK|200 OK|200 OK|200 OK|302 Found|304 Not Modified|201 Created|204 No Content|401 Unauthorized|404 Not Found|422 Unprocessable Entity|500 Internal Server Error
rbms|{digit}.{digit}|{count}.{digit}|{count}.{digit}|{int}.{digit}|0.0
rballoc|{int}|{int}|{int}{two}
rbparams|"id"=>"{int}"|"id"=>"{int}"|"page"=>"{small2}"|"authenticity_token"=>"[FILTERED]", "item"=>{"product_id"=>"{int}", "quantity"=>"{digit}"}, "commit"=>"Add to cart"|"authenticity_token"=>"[FILTERED]", "user"=>{"email"=>"{user}@{host}", "password"=>"[FILTERED]", "remember_me"=>"{onezero}"}, "commit"=>"Log in"|"q"=>"{rbterm}"|"sku"=>"{letter}{letter}-{four}", "format"=>"json"|"order"=>{"shipping"=>"{rbship}", "note"=>""}, "id"=>"{int}"
rbship|standard|express|pickup
rbpartial|products/_card.html.erb|products/_card.html.erb|shared/_header.html.erb|shared/_flash.html.erb|carts/_line_item.html.erb|orders/_summary.html.erb|admin/orders/_row.html.erb|shared/_footer.html.erb
rbview|products/show.html.erb|products/index.html.erb|carts/show.html.erb|orders/show.html.erb|admin/orders/index.html.erb|search/index.html.erb|users/sessions/new.html.erb
rblayout|layouts/application|layouts/application|layouts/application|layouts/admin
rburl|https://shop.example.com/cart|https://shop.example.com/orders/{int}|https://shop.example.com/users/sign_in|https://shop.example.com/|https://shop.example.com/admin/orders
rbjob|OrderMailerJob|InventorySyncJob|SearchIndexJob|ActionMailer::MailDeliveryJob|ActionMailer::MailDeliveryJob|ExportJob|ActiveStorage::AnalyzeJob
rbqueue|default|default|mailers|low|critical
rbutc|2026-11-{day} {clock} UTC
rbargs|{int}|#<GlobalID:0x0000{hex12} @uri=#<URI::GID gid://shop/Order/{int}>>|"{rbmailername}", "{rbmail}", "deliver_now", {:args=>[#<GlobalID:0x0000{hex12} @uri=#<URI::GID gid://shop/User/{int}>>]}|"{rbterm}", {int}
rbmailername|OrderMailer|UserMailer
rbmail|confirmation|shipped|welcome|password_reset
rbmailer|OrderMailer#confirmation|OrderMailer#shipped|UserMailer#welcome|Devise::Mailer#reset_password_instructions
rbiso|2026-11-{day}T{clock}Z|2026-11-{day}T{clock}.{three}{six}Z
rbtid|{letter}{letter}{digit}{letter}|o{letter}{digit}{letter}{letter}
rbjob2|InventorySyncWorker|PriceUpdateWorker|WebhookWorker|CleanupWorker|ActiveJob::QueueAdapters::SidekiqAdapter::JobWrapper
rbjid|{hex12}{hex12}
rbsec|{digit}.{three}|{count}.{three}|0.0{two}
rbview2|products/index|products/show|shared/_menu|categories/show
rbcachekey|products/{int}-2026{four}{six}|{hex16}{hex16}|categories/{count}-2026{four}{six}/en
rbfilter|authenticate_user!|require_admin|verify_authenticity_token|set_cart
rbunpermitted|: :locale|: :utm_source|s: :utm_source, :utm_medium|s: :locale, :ref|: :format
rbcontroller|ProductsController|OrdersController|CartItemsController|Api::V1::StockController
rbmethod|show|index|create|update
rbscan|/wp-login.php|/wp-login.php|/.env|/xmlrpc.php|/favicon.png|/apple-touch-icon-{int}x{int}.png|/phpmyadmin/index.php|/.git/config
rbmodel|Product|Order|User|Coupon|Category
rbtable|products|orders|users|coupons
rbmethod2|name|price_cents|each|[]|total|image_url|current_store|shipping_address
rbfile|views/products/show.html.erb|models/order.rb|controllers/carts_controller.rb|helpers/application_helper.rb|services/stock/sync.rb|models/concerns/priceable.rb
rbhost|web1|web2|web3|worker1
rbkey|{hex12}{hex8}{hex8}|variants/{hex12}{hex8}/{sha64}
rbsum|{hex16}{hex6}==
rburl3|https://shop-assets.s3.eu-west-1.amazonaws.com/{hex12}{hex8}{hex8}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=202611{day}T{six}Z&X-Amz-Signature={sha64}
rbexport|orders-2026-11-{day}.csv|customers.csv|invoice-{five}.pdf
rbupgrade|Upgrade|Upgrade|keep-alive, Upgrade
rbchannel|NotificationsChannel|CartChannel|Turbo::StreamsChannel|AdminDashboardChannel
rbstream|cart:{int}|notifications:Z2lkOi8vc2hvcC9Vc2VyLz{hex6}|dashboard|Z2lkOi8vc2hvcC9PcmRlci8{hex6}
rbattack|Throttle|Throttle|Blocklist|Track
rberror|Net::ReadTimeout (Net::ReadTimeout with #<TCPSocket:(closed)>)|ActiveRecord::Deadlocked (PG::TRDeadlockDetected: ERROR:  deadlock detected)|Faraday::ConnectionFailed (Failed to open TCP connection to stock.example.com:443)|ActiveJob::DeserializationError (Error while trying to deserialize arguments: Couldn't find User with 'id'={int})|NoMethodError (undefined method `{rbmethod2}' for nil:NilClass)
rbdeprecated|Using `redirect_to :back` is deprecated|`to_s(:db)` is deprecated. Please use `to_fs(:db)` instead.|Rails.application.secrets is deprecated in favor of Rails.application.credentials and will be removed in Rails 7.2.
rbcode|Sky's Version|Return to Forever|The Eagle of Durin
rbmigration|AddStateToOrders|CreateCoupons|AddIndexToProductsSku|BackfillPrices
rbscope|active|recent|visible
rbindex|products_production_2026{four}{six}{three}|products_production
rbper|24|24|48|10
rbfrom|0|0|24|48|{int}
rbhttp|200|200|200|402|429
rbredis|redis.shop.internal|10.20.4.{octet}
cdtime|2026-11-{day}T{clock}.{three}{six}Z
cdns|k8s.io|k8s.io|moby
cdplugin|content.v1.content|snapshotter.v1.overlayfs|snapshotter.v1.btrfs|snapshotter.v1.zfs|metadata.v1.bolt|gc.v1.scheduler|runtime.v2.task|grpc.v1.cri|grpc.v1.images|service.v1.tasks-service|internal.v1.restart|event.v1.publisher|ttrpc.v1.task|snapshotter.v1.devmapper
cdtype|content.v1|snapshotter.v1|metadata.v1|gc.v1|runtime.v2|grpc.v1|service.v1|internal.v1|event.v1
cdname|app|app|istio-proxy|coredns|kube-proxy|node-exporter|web|worker|redis|nginx|init-db
cdpod|{cdname}-{hex8}{digit}-{podtail}|{cdname}-{hex8}{digit}-{podtail}|kube-proxy-{podtail}|redis-{digit}|coredns-5d78c9869d-{podtail}
cdk8s|kube-system|kube-system|shop|shop|monitoring|staging
cdgrace|10|30|30|2
cdsignal|terminated|terminated|quit|15|SIGTERM
cdsignal2|terminated|terminated|interrupt
cdimage|registry.example.com/shop/{cdname}:{hex7}|registry.example.com/shop/{cdname}:v{version}|docker.io/library/nginx:1.25|docker.io/library/redis:7-alpine|registry.k8s.io/pause:3.9|quay.io/prometheus/node-exporter:v1.{digit}.0|sha256:{cdsha}
cdpull|failed to pull and unpack image: failed to resolve reference: pull access denied, repository does not exist or may require authorization|Get https://registry-1.docker.io/v2/: net/http: request canceled while waiting for connection (Client.Timeout exceeded while awaiting headers)|toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating and upgrading|manifest unknown: manifest unknown|Head https://registry.example.com/v2/shop/{cdname}/manifests/{hex7}: unauthorized: authentication required
cdexec|failed to start exec {cdsha}: OCI runtime exec failed: exec failed: unable to start container process: exec: /bin/bash: stat /bin/bash: no such file or directory: unknown|container is not running: unknown|timeout {count}s exceeded: context deadline exceeded
cdexit|0|1|1|2|137|137|143|255
cdverb|GET|GET|POST|DELETE
cdapi|/v1.43/containers/{hex12}/json|/v1.43/containers/{hex12}/json|/v1.43/containers/create|/v1.43/images/{cdname}/json|/v1.43/containers/{cdsha}/start|/v1.43/networks/{cdname}|/_ping|/v1.43/info|/v1.43/containers/{cdname}
cderr|No such container: {hex12}|No such container: {cdname}|No such image: {cdname}:latest|network {cdname} not found|Conflict. The container name \"/{cdname}\" is already in use by container \"{cdsha}\". You have to remove (or rename) that container to be able to reuse that name.|driver failed programming external connectivity on endpoint {cdname} ({cdsha}): Bind for 0.0.0.0:{port} failed: port is already allocated
cdhealth|context deadline exceeded|timed out starting health check for container {cdsha}|OCI runtime exec failed: exec failed: unable to start container process: EOF: unknown|container {cdsha} is not running
cdnet|EOF|unexpected EOF|dial tcp: lookup registry-1.docker.io on {cddns}:53: server misbehaving|read tcp {cdlocal}:{port}->{ip}:443: read: connection reset by peer
cdlocal|172.17.0.{small2}|172.18.0.{small2}|10.0.5.{octet}
cddns|8.8.8.8|8.8.4.4|10.0.0.2|1.1.1.1
cdresolve|read udp {cdlocal}:{port}->{cddns}:53: i/o timeout|read udp {cdlocal}:{port}->{cddns}:53: i/o timeout|dial udp {cddns}:53: connect: network is unreachable
cdquestion|registry.example.com|db.shop.internal|api.stripe.com|redis|{host}
cdrr|A|A|AAAA
cddriver|overlay2|overlay2|btrfs
cdlisten|/run/docker.sock|/run/docker.sock|[::]:2375
micro6|0.{six}
cdsock|/run/containerd/containerd.sock|/run/containerd/containerd.sock.ttrpc
cdskip|path /var/lib/containerd/io.containerd.snapshotter.v1.btrfs (ext4) must be a btrfs filesystem to be used with the btrfs snapshotter|aufs is not supported (modprobe aufs failed: exit status 1)|devmapper not configured|no OpenTelemetry endpoint
cdfsevent|REMOVE        \"/etc/cni/net.d/10-calico.conflist\"|WRITE         \"/etc/cni/net.d/calico-kubeconfig\"|CREATE        \"/etc/cni/net.d/10-flannel.conflist\"
cdcni|no network config found in /etc/cni/net.d: cni plugin not initialized|plugin type=\"calico\" failed: no such file
cdcalico|CNI_CONTAINERID does not match WorkloadEndpoint ContainerID, don't delete WEP.|Added Mac, interface name, and active container ID to endpoint|Wrote updated endpoint to datastore
cdnode|node-a1|node-a2|node-b1|node-b2
cdrunc|container with given ID already exists|unable to start container process: error during container init: exec: \"{cdname}\": executable file not found in $PATH|can't get final child's PID from pipe: EOF
cdswarm|rpc error: code = Unavailable desc = connection error: desc = \"transport: Error while dialing dial tcp 10.0.5.{octet}:2377: connect: connection refused\"|node not registered|session invalid
cdid|{letter}{digit}{letter}{letter}{digit}{digit}{letter}{hex6}{letter}{letter}{hex6}{letter}{digit}
pmts|2026-11-{day}T{clock}.{three}Z|2026-11-{day}T{clock}.{three}Z|2026-11-{day}T{clock}.{three}{six}Z
lkcomp|querier|querier|frontend|ruler
lkorg|fake|fake|team-a|shop
lkorg2||fake|shop
lklat|fast|fast|fast|slow
lkquery|{lkselector2}|sum(rate({lkselector2}[5m]))|sum by (level) (count_over_time({lkselector2} [1m]))|topk(10, sum by (pod) (rate({lkselector2}[1h])))
lkselector2|{app=\"{cdname}\"}|{namespace=\"{cdk8s}\", container=\"{cdname}\"}|{job=\"varlogs\"}
lktype|filter|metric|limited|labels
lkrange|range|range|instant
lklength|1h0m0s|1h0m0s|5m0s|24h0m0s|168h0m0s|15m0s
lkstep|14s|1m0s|30s|1s|2m0s
lkstatus|200|200|200|200|499|500
lklimit|1000|1000|100|5000|0
lksize|{count}MB|{int}kB|{digit}.{digit}GB|0B|{count}GB
pmms|17643{five}{three}
pmulid|01KB{upper4}{upper4}{upper4}{upper4}{upper4}{upper2}
upper4|{upper2}{upper2}
upper2|9X|K3|QZ|7M|VT|2B|RJ|5D|WH|F8|0N|YG
grname|admin|ann|bob||grafana-sa|viewer
grmethod|GET|GET|POST|POST|PUT
grpath|/api/ds/query|/api/ds/query|/api/live/ws|/api/dashboards/uid/:uid|/api/annotations|/api/datasources/proxy/uid/:uid/*|/login|/api/prometheus/grafana/api/v1/rules
grstatus|200|200|200|400|401|404|499|500
grip|10.0.9.{octet}|{ip}|[::1]
grreferer|https://grafana.example.com/d/{grdsuid}/{noun}?orgId=1&refresh=30s|https://grafana.example.com/explore|
grsource|server|downstream
pmpool|kubernetes-pods|kubernetes-nodes|node|node|blackbox|cadvisor|postgres
pmtarget|http://10.0.5.{octet}:9100/metrics|http://10.0.5.{octet}:9100/metrics|https://10.0.5.{octet}:10250/metrics/cadvisor|http://{cdname}.{cdk8s}.svc:8080/metrics|http://blackbox:9115/probe?module=http_2xx&target=https%3A%2F%2Fshop.example.com
pmingest|out-of-order samples|out-of-order samples|samples with different value but same timestamp|samples that are too old or are too far into the future
pmscrape|Get \"{pmtarget}\": dial tcp 10.0.5.{octet}:9100: connect: connection refused|Get \"{pmtarget}\": context deadline exceeded|server returned HTTP status 503 Service Unavailable|server returned HTTP status 404 Not Found|Post \"http://{amhost}:9093/api/v2/alerts\": context deadline exceeded|Get \"{pmtarget}\": EOF
pmremote|https://metrics.example.com/api/v1/push|http://mimir.monitoring.svc:8080/api/v1/push
pmsend|server returned HTTP status 500 Internal Server Error: rpc error: code = Unavailable|server returned HTTP status 429 Too Many Requests (429): ingestion rate limit exceeded|Post \"{pmremote}\": context deadline exceeded|server returned HTTP status 400 Bad Request: out of order sample|Post \"{pmremote}\": dial tcp {ip}:443: connect: connection refused
pmrules|node|kubernetes|shop|slo
pmgroup|node.rules|kubernetes-apps|shop-latency|slo-burn
pmalert|HighErrorRate|NodeDown|KubePodCrashLooping|DiskWillFillIn4Hours|Watchdog|instance:node_cpu:rate5m|CertificateExpiry
pmrule|record: instance:node_cpu:rate5m\nexpr: sum by (instance) (rate(node_cpu_seconds_total[5m]))\n|alert: {pmalert}\nexpr: up == 0\nfor: {digit}m\n|alert: {pmalert}\nexpr: sum(rate(http_requests_total{code=~\"5..\"}[5m])) > 0.0{digit}\nfor: 10m\nlabels:\n  severity: page\n
pmeval|found duplicate series for the match group {instance=\"10.0.5.{octet}:9100\"} on the right hand-side of the operation|vector contains metrics with the same labelset after applying rule labels|query timed out in expression evaluation
amhost|alertmanager-0|alertmanager-1|alertmanager
pmplural||s
amreceiver|team-shop|oncall|slack-default|pagerduty
amkind|slack|slack|pagerduty|email|webhook
amcancel|after {digit} attempts|due to context deadline exceeded|due to unrecoverable error after 1 attempts
amnotify|unexpected status code 429: rate_limited|Post \"<redacted>\": context deadline exceeded|channel \"#alerts-{noun}\": unexpected status code 404: channel_not_found|establish connection to server: dial tcp {ip}:587: i/o timeout|unexpected status code 502: https://hooks.example.com/{noun}
amstate|done|started|failed
pmprogram|alertmanager|alertmanager|blackbox_exporter
pmyaml|did not find expected key|mapping values are not allowed in this context|field {noun} not found in type config.plain
pmus|{digit}.{three}µs|{count}.{three}µs|{int}.{three}µs
pmns|{int}ns|{digit}.{three}µs
pmmode|server|server|agent
pmsignal|terminated|terminated|interrupt
pmport|9090|9090|9093|9100
pmtls|disabled|disabled|enabled
pmwatch|*v1.Pod|*v1.Pod|*v1.Endpoints|*v1.Service|*v1.Node|*v1.EndpointSlice
pmwatcherr|an error on the server (\"unable to decode an event from the watch stream: http2: client connection lost\") has prevented the request from succeeding|too old resource version: {big} ({big})|very short watch: Unexpected watch close
pmsd|consul|dns|ec2|http
lkselector|{app=\\\"{cdname}\\\", namespace=\\\"{cdk8s}\\\"}|{job=\\\"varlogs\\\", filename=\\\"/var/log/syslog\\\"}|{container=\\\"{cdname}\\\", pod=\\\"{cdpod}\\\", stream=\\\"stderr\\\"}
lkstore|tsdb|tsdb|boltdb-shipper
lkmethod|Querier/Query|Querier/QuerySample|Pusher/Push|Querier/Label
lkgrpc|rpc error: code = Canceled desc = context canceled|rpc error: code = Canceled desc = context canceled|context deadline exceeded|rpc error: code = Code(500) desc = at least 1 live replicas required, could only find 0
lkcode|429|429|400|500
lkreject|Ingestion rate limit exceeded for user {lkorg} (limit: {big} bytes/sec) while attempting to ingest '{int}' lines totaling '{big}' bytes, reduce log volume or contact your Loki administrator to see if the limit can be increased|entry with timestamp 2026-11-{day} {clock} +0000 UTC ignored, reason: 'entry too far behind'|error at least one label pair is required per stream|max streams limit exceeded, dropping {small} streams
lkcode2|400|429|-1|500
lkhost|loki|loki-gateway.monitoring.svc|loki.example.com
lkip|10.0.7.11|10.0.7.12|10.0.7.13|10.0.7.{octet}
pmdial|connect: connection refused|i/o timeout|connect: no route to host
grds|prometheus|prometheus|loki|postgres|elasticsearch
grdsname|Prometheus|Prometheus|Loki|Shop DB|Elastic logs
grdsuid|ad{letter}7kz0{letter}9rjk|fe2x{letter}q81d{letter}w|PBFA97CFB590B2093|P8E80F9AEF21F6940
grstatus2|error|cancelled|timeout
grresult|[{Instance:__name__=up State:Normal}]|[{Instance: State:Alerting}]|[]|[{Instance:instance=10.0.5.{octet}:9100 State:NoData}]
grcache|"__alert_rule_uid__{grdsuid}alertname{pmalert}"|"alertname{pmalert}instance10.0.5.{octet}:9100"
gralert|Normal|Normal|Alerting|NoData
grreason||MissingSeries|NoData|Error
grclient|basic|session|api-key|session
grauth|[password-auth.failed] failed to authenticate identity: [identity.not-found]|[session.token.rotate] token needs to be rotated|[api-key.invalid] API key is invalid|user token not found
kfid|1|2|3
kfgroup|billing|billing|shipping|search-indexer|fraud-scoring|connect-s3-sink|console-consumer-{five}
kfmember|{kfclient}-{rbrid}
kfclient|billing-{digit}|shipping-{digit}|rdkafka|consumer-search-indexer-{digit}|sarama|connector-consumer-s3-sink-{digit}
kfreason|Adding new member {kfmember} with group instance id None; client reason: {kfwhy}|removing member {kfmember} on LeaveGroup; client reason: the consumer is being closed|Updating metadata for member {kfmember} during Stable; client reason: {kfwhy}|removing member {kfmember} on heartbeat expiration
kfwhy|not provided|not provided|rebalance enforced by user|need to re-join with the given member-id: {kfmember}
kftopic|orders|orders|payments|shipments|clicks|clicks|stock-changes|audit.events|__consumer_offsets
kftp|{kftopic}-{digit}|{kftopic}-{digit}|{kftopic}-{small2}
kfdir|/var/lib/kafka/data|/var/lib/kafka/data|/data2/kafka
kfretention|retention time {big}ms breach|log retention time 604800000ms breach based on the largest record timestamp in the segment|retention size 1073741824 breach. Log size after deletion will be {big}|log start offset {big} breach
kfincrement|segment deletion|segment deletion|client delete records request|leader offset increment
kfoffset|00000000000{big}|00000000000{big}|00000000000000000000
kfindex|offset|offset|time|transaction
kfsuffix|index|index|timeindex|txnindex
kfids|1,2,3|1,2,3|1,2|2,3|1,3|1|2|3
kfoutsync|(brokerId: {kfid}, endOffset: {big}, lastCaughtUpTimeMs: {pmms})|(brokerId: {kfid}, endOffset: {big}, lastCaughtUpTimeMs: {pmms})|(brokerId: {kfid}, endOffset: {big}, lastCaughtUpTimeMs: {pmms}) (brokerId: {kfid}, endOffset: {big}, lastCaughtUpTimeMs: {pmms})
kfleader|Some(1)|Some(2)|Some(3)|None
kfepoch|INITIAL|{int}|{int}{three}
kfstate|{kftp} -> InitialFetchState(Some({kfuid}),BrokerEndPoint(id={kfid}, host={kfhost}:9092),{count},{big})
kfhost|kafka-1.internal|kafka-2.internal|kafka-3.internal
kfserver|10.0.6.11|10.0.6.12|10.0.6.13
kfrole|followers|followers|leaders
kfuid|Rq{upper2}7eK1Qx-mVYcL9{upper2}dTw|a0Zp{upper2}hSTb2uN{upper2}f8_kCg
kfidlist|[1,2,3]|[1,2,3]|[2,3]|[1]
kfchannel|heartbeat|heartbeat|forwarding|alter-partition|registration
kfdisc|request timeout|request timeout|socket connection setup timeout
kfnode|-1|1|2|3|2147483646
kfoptional|Optional.empty|Optional[{count}]
kftxn|||, transactionalId={kfgroup}-{digit}
kfrack|null|null|eu-west-1a
kferror|NOT_LEADER_OR_FOLLOWER|NOT_LEADER_OR_FOLLOWER|NETWORK_EXCEPTION. Error Message: Disconnected from node {kfid}|REQUEST_TIMED_OUT|NOT_ENOUGH_REPLICAS
kfrecord|TopicRecord|TopicRecord|PartitionRecord|RemoveTopicRecord
kfconfigs||CreateableTopicConfig(name='retention.ms', value='{big}')|CreateableTopicConfig(name='cleanup.policy', value='compact'), CreateableTopicConfig(name='segment.bytes', value='{big}')
kfcreate|SUCCESS|SUCCESS|TOPIC_ALREADY_EXISTS (Topic '{kftopic}' already exists.)|INVALID_REPLICATION_FACTOR (Unable to replicate the partition {digit} time(s): The target replication factor of {digit} cannot be reached because only {digit} broker(s) are registered.)
kfraft|FollowerState(fetchTimeoutMs=2000, epoch={count}, leaderId={kfid}, voters=[1, 2, 3], highWatermark=Optional[LogOffsetMetadata(offset={big}, metadata=Optional.empty)], fetchingSnapshot=Optional.empty)|Unattached(epoch={count}, voters=[1, 2, 3], electionTimeoutMs={int}, highWatermark=Optional.empty)|CandidateState(localId={kfid}, epoch={count}, retries={digit}, electionTimeoutMs={int})|Leader(localId={kfid}, epoch={count}, epochStartOffset={big})
kfltype|BROKER|BROKER|CONTROLLER
kfauth|SSL handshake failed|SSL handshake failed|Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512|Authentication failed: Invalid username or password
kfquota|Fetch|Produce|Request|ControllerMutation
kfretain|retaining|retaining|discarding
fgdev|FGT-HQ-1|FGT-HQ-1|FGT-HQ-2|FGT-BRANCH-{digit}
fgid|FG100FTK{five}{three}|FG100FTK20001234|FG100FTK20001234|FG60FTK{five}{four}
fgsrc|10.1.10.{octet}|10.1.10.{octet}|10.1.20.{octet}|192.168.50.{octet}
fgdst|8.8.8.8|10.1.1.10|10.1.1.11|10.1.1.20|52.97.{small}.{octet}|142.250.{small2}.{octet}|20.190.{small2}.{octet}|{ip}
fgintf|lan|lan|wan1|wan1|wan2|dmz|ssl.root|VPN-BRANCH{digit}|guest-wifi
fgport|443|443|443|53|53|80|22|25|123|8080|3389|445|{port}
fgcountry|United States|United States|Germany|Ireland|Netherlands|Reserved|China|France|Russian Federation
fgproto|6|6|17|17|1
fgaction|close|close|accept|accept|client-rst|server-rst|timeout|deny
fgpolicy|LAN-to-Internet|LAN-to-Internet|DMZ-Web|VPN-Access|Guest Wi-Fi|Block-Botnet
fgservice|HTTPS|HTTPS|DNS|HTTP|SSH|PING|NTP|udp/{port}|tcp/{port}|SMB
fgnat|snat|snat|noop|dnat
fgwan|203.0.113.10|203.0.113.10|198.51.100.2
fgappcat|unscanned|unscanned|Web.Client|General.Interest|Cloud.IT|Collaboration|Social.Media|Video/Audio|Network.Service|Update
fguser|{user}|{user}|{user}.{noun}|svc-scan|admin|guest{count}
fggroup|VPN-Users|VPN-Users|Domain Users|IT-Admins|LDAP-Auth|Guests
fghttp|HTTPS|HTTPS|HTTP
fghost|www.{noun}.com|{host}|cdn.example.net|login.microsoftonline.com|update.googleapis.com|outlook.office365.com|api.{noun}.io
fgprofile|default|default|monitor-all|strict|guest-profile
fgreq|direct|direct|referral
fgurl|/|/|/{noun}/{noun}.js|/api/v2/{noun}?id={int}|{path}
fgcat|Information Technology|Business|Business|News and Media|Social Networking|Malicious Websites|Advertising|Gambling|Streaming Media and Download
fgapp|HTTPS.BROWSER|HTTPS.BROWSER|SSL|Microsoft.Portal|Microsoft.Teams|YouTube|Facebook|DNS|Google.Services|Windows.Update|BitTorrent
fgrisk|low|low|medium|elevated|high|critical
fgqtype|A|A|AAAA|HTTPS|PTR|TXT
fgips|dropped|dropped|detected|reset
fgattack|Apache.Log4j.Error.Log.Remote.Code.Execution|HTTP.URI.SQL.Injection|ThinkPHP.Controller.Parameter.Remote.Code.Execution|Backdoor.DoublePulsar|Nmap.Script.Scanner|PHPUnit.Eval-stdin.PHP.Remote.Code.Execution
fgattackkind|applications3|web_app3|backdoor|misc|tools
fgfile|eicar.com|invoice_{five}.doc|{noun}.exe|{noun}.zip|setup.msi
fgvirus|EICAR_TEST_FILE|W32/Agent.{upper2}!tr|JS/Phish.{upper2}!tr|MSOffice/Dropper.{upper2}
fgupdown|up|up|down
fgupdown2|UP|DOWN
fgike|500|500|4500
fgvpn|VPN-BRANCH{digit}|VPN-BRANCH{digit}|VPN-AZURE|partner-{noun}
fgstatus|success|success|failure|negotiate_error
fginit|local|remote
fginit2|initiator|responder
fgdir|inbound|outbound
fgresult|OK|OK|DONE|ERROR|PENDING
fgtunnel|ssl-tunnel|ssl-tunnel|ssl-web
fgreason|N/A|tunnel established|login successfully
fgfail|sslvpn_login_unknown_user|sslvpn_login_unknown_user|sslvpn_login_permission_denied|sslvpn_login_password_expired
fgadmin|admin|admin|netops|{user}|fortimanager
fgui|https|https|ssh|GUI|jsconsole
fgadminprofile|super_admin|super_admin|prof_admin|read_only
fgadminfail|passwd_invalid|name_invalid|exceed_limit
fgwhat|password|user name
fgedit|Edit|Edit|Add|Delete
fgcfg|firewall.policy|firewall.address|system.interface|user.local|vpn.ipsec.phase1-interface|firewall.addrgrp
fgobject|{count}|{noun}-net|wan1|{user}|VPN-BRANCH{digit}|host_10.1.10.{octet}
fgattr|status[enable->disable]|comments[{noun}]|dstaddr[{noun}-net]|subnet[10.1.{count}.0 255.255.255.0]|passwd[*]|srcaddr[all->{noun}-net]service[ALL->HTTPS]
fgwaninfo|name=wan1,bytes={big}/{big},packets={int}/{int}|name=wan1,bytes={big}/{big},packets={int}/{int};name=wan2,bytes={int}/{int},packets={small}/{small};|N/A
fgha|primary|secondary
fghastate|work|standby|hello
fgauthproto|HTTPS({fgsrc})|HTTP({fgsrc})|FSSO
fgclient|{device}|LAPTOP-{upper4}{upper4}|iPhone|PC-{four}
fgserver|10.1.1.10|10.1.1.11|dc1.corp.example.com
paserial|013201012345|013201012346
pacfg|2561|2561|2305|2562
panat|0.0.0.0|203.0.113.10|203.0.113.10|198.51.100.2|{ip}
parule|allow-web|allow-web|allow-dns|vpn-users|dmz-in|interzone-default|deny-all
pauser|||corp\{user}|corp\{user}|corp\svc-backup
paapp|ssl|ssl|web-browsing|dns|dns-base|ms-office365-base|google-base|incomplete|ntp|ms-ds-smbv3|quic
pazone|trust|trust|untrust|untrust|dmz|vpn
paintf|ethernet1/1|ethernet1/1|ethernet1/2|ethernet1/3|tunnel.{digit}|ae1.{count}
paport|0|{port}|{port}|443
pahex|400053|400053|19|1c|500000|0
paproto|tcp|tcp|udp|icmp
pacat|any|any|computer-and-internet-info|business-and-economy|unknown|content-delivery-networks
paloc|10.0.0.0-10.255.255.255|10.0.0.0-10.255.255.255|United States|Germany|Ireland|192.168.0.0-192.168.255.255
paend|tcp-fin|tcp-fin|aged-out|aged-out|tcp-rst-from-client|tcp-rst-from-server
padev|PA-HQ-1|PA-HQ-1|PA-HQ-2
paurl|alert|alert|block-url|allow|continue
pactype||text/html|application/json|image/png
pathreat|vulnerability|vulnerability|spyware|virus|wildfire
pathreatact|reset-both|alert|drop|sinkhole
padirection|client-to-server|server-to-client
paclient|Microsoft Windows 11 Enterprise , 64-bit|Microsoft Windows 10 Pro , 64-bit|Apple Mac OS X 14.{digit}.{digit}
pafail|Invalid username/password|Invalid username/password|User is not in allowlist|Authentication server is not reachable
paseverity|informational|informational|low|medium|high
pasystem|Connection to Update server: updates.paloaltonetworks.com completed successfully, initiated by {ip}|User admin logged in via Web from {fgsrc} using https|Content update: version {int}-{int} installed|Commit job succeeded. Completion time=2026/11/{day} {clock}. JobId={int}. User: {fgadmin}|NTP sync to server {ip} succeeded|Traffic log forwarding queue is {percent}% full
paconfig|edit|set|set|commit|delete
paclient2|Web|Web|CLI|Panorama
paresult|Succeeded|Succeeded|Succeeded|Submitted|Failed
papath| config mgt-config users {user}| vsys  vsys1 rulebase security rules {parule}| vsys  vsys1 address {noun}-net||
paos|Windows|Mac|iOS
pahip|is-managed|disk-encrypted|av-outdated
palogin|login|login|logout
pasource|vpn-client|active-directory|active-directory|captive-portal
pasource2|globalprotect|unknown|windows-log
wssid|S-1-5-18|S-1-5-18|S-1-0-0|S-1-5-21-1004336348-1177238915-682003330-{int}|S-1-5-21-1004336348-1177238915-682003330-{int}|S-1-5-20
wsaccount|{wshost}$|{wshost}$|{wshost}$|{wsuser}|{wsuser}|SYSTEM|-|NETWORK SERVICE
wsaccount3|{wsuser}|{wsuser}|{wshost}$|{wshost}$|Administrator|svc-sql
wsuser|{user}|{user}|{user}|adm-{user}|svc-backup|svc-sql|Administrator
wsdomain|CORP|CORP|CORP|NT AUTHORITY|-
wsrealm|CORP.EXAMPLE.COM|CORP.EXAMPLE.COM|CORP
wsrealm2|corp.example.com
wslogon|0x3E7|0x3E7|0x0|0x{wshex}{hex4}|0x{wshex}{hex4}
wshex|{hexu}{hexu}{hexu}|{hexu}{hexu}|{hexu}{hexu}{hexu}
hexu|1|2|3|4|5|7|8|9|A|B|C|D|E|F
wstype|3|3|3|5|5|2|7|10|4
wsyes|Yes|Yes|No
wsimp|Impersonation|Impersonation|Delegation|Identification
wsguid|00000000-0000-0000-0000-000000000000|{uuid}
wspid|0x0|0x{wshex}|0x{wshex}
wsexe|-|-|C:\Windows\System32\services.exe|C:\Windows\System32\lsass.exe|C:\Windows\System32\svchost.exe
wshost|DC01|DC02|WEB01|SQL01|FS01|WS-{three}|WS-{three}|LAPTOP-{upper4}
wsip|-|10.1.10.{octet}|10.1.10.{octet}|10.1.1.{octet}|::1|fe80::{hex4}:{hex4}:{hex4}:{hex4}|::ffff:10.1.10.{octet}
wsport|-|0|{port}|{port}
wsproc|Kerberos|Kerberos|Advapi|NtLmSsp |User32
wspackage|Kerberos|Kerberos|Negotiate|NTLM|MICROSOFT_AUTHENTICATION_PACKAGE_V1_0
wsntlm|-|-|NTLM V2|NTLM V1
wskey|0|0|128
wsprivs|SeSecurityPrivilege     SeBackupPrivilege     SeRestorePrivilege     SeTakeOwnershipPrivilege     SeDebugPrivilege     SeSystemEnvironmentPrivilege     SeLoadDriverPrivilege     SeImpersonatePrivilege|SeSecurityPrivilege     SeBackupPrivilege     SeRestorePrivilege     SeTakeOwnershipPrivilege     SeDebugPrivilege     SeSystemEnvironmentPrivilege     SeLoadDriverPrivilege     SeImpersonatePrivilege     SeDelegateSessionUserImpersonatePrivilege|SeAssignPrimaryTokenPrivilege     SeAuditPrivilege     SeImpersonatePrivilege|SeImpersonatePrivilege
wsprivs2|-|-|SeDebugPrivilege
wsdevice|\device\harddiskvolume{digit}\windows\system32\svchost.exe|\device\harddiskvolume{digit}\windows\system32\lsass.exe|System|\device\harddiskvolume{digit}\program files\google\chrome\application\chrome.exe|\device\harddiskvolume{digit}\windows\system32\dns.exe
wsdir|Inbound|Inbound|Outbound
wsip2|10.1.10.{octet}|10.1.1.{octet}|{ip}|224.0.0.252|::1|127.0.0.1|fe80::{hex4}:{hex4}:{hex4}:{hex4}
wsdport|443|53|88|389|445|135|{port}
wsproto|6|6|17|17|1
wslayer|Receive/Accept|Connect|Connect
wslayerid|44|48|46|36
wsexe2|C:\Windows\System32\svchost.exe|C:\Windows\System32\svchost.exe|C:\Windows\System32\cmd.exe|C:\Windows\System32\conhost.exe|C:\Windows\System32\services.exe|C:\Windows\explorer.exe|C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe|C:\Windows\System32\wbem\WmiPrvSE.exe|C:\Program Files\Google\Chrome\Application\chrome.exe|C:\Program Files (x86)\{noun}\{noun}.exe|C:\Windows\System32\backgroundTaskHost.exe
wstoken|1936|1936|1937|1938
wslabel|S-1-16-16384|S-1-16-12288|S-1-16-8192
wscmd||C:\Windows\system32\svchost.exe -k netsvcs -p -s {wssvc}|\??\C:\Windows\system32\conhost.exe 0xffffffff -ForceV1|"C:\Program Files\Google\Chrome\Application\chrome.exe" --type=renderer --lang=en-US --renderer-client-id={int}|C:\Windows\system32\cmd.exe /c "C:\Scripts\{noun}.bat"|powershell.exe -NoProfile -ExecutionPolicy Bypass -File C:\Scripts\{noun}.ps1
wsservice|{wshost}$|{wshost}$|krbtgt|svc-sql|DC01$
wskrbip|::ffff:10.1.10.{octet}|::ffff:10.1.10.{octet}|::ffff:10.1.1.{octet}|::1
wsticket|0x40810000|0x40810000|0x40810010|0x60810010|0x50800000
wsenc|0x12|0x12|0x12|0x17|0x11|0xFFFFFFFF
wskrb|0x0|0x0|0x0|0x6|0x1B|0x20
wskrb2|0x18|0x18|0x12|0x25
wspre|2|2|0|15|16
wscert||||CORP-CA
wscertno||||{hex16}{hex8}
wsstatus|0x0|0x0|0xC000006D|0xC000006A|0xC0000064|0xC0000234|0xC0000072
wsfail|Unknown user name or bad password.|Unknown user name or bad password.|Account locked out.|The specified account's password has expired.|Account currently disabled.|An Error occured during Logon.
wstarget|localhost|localhost|{wshost}|{wshost}.corp.example.com
wsexit|0x0|0x0|0x0|0x1|0xC0000005|0x40010004
wsany|0.0.0.0|0.0.0.0|::|10.1.10.{octet}
wsshare|\\*\IPC$|\\*\IPC$|\\*\SYSVOL|\\*\NETLOGON|\\*\{noun}|\\*\C$
wssharepath||\??\C:\Windows\SYSVOL\sysvol|\??\D:\Shares\{noun}|
wsrelative|\|srvsvc|lsarpc|corp.example.com\Policies\{{uuid}}\gpt.ini|{noun}\{noun}.xlsx|{noun}\{user}\{noun} {small2}.docx
wsmask|0x1|0x1|0x2|0x12019F|0x120089|0x100081|0x10000
wsaccesses|ReadData (or ListDirectory)|ReadData (or ListDirectory)|WriteData (or AddFile)|READ_CONTROL      SYNCHRONIZE      ReadData (or ListDirectory)      ReadEA      ReadAttributes|DELETE|%%4416|%%4424      %%4417
wscheck|-|-|READ_CONTROL: Granted by Ownership      ReadAttributes: Granted by D:(A;ID;0x1200a9;;;WD)
wsobjtype|File|File|Key|Process|Directory
wsfile|D:\Shares\{noun}\{noun}.xlsx|D:\Shares\{noun}\{user}\{noun} {small2}.docx|\REGISTRY\MACHINE\SYSTEM\ControlSet001\Services\{wssvc}|\Device\HarddiskVolume{digit}\Windows\System32\lsass.exe|C:\Windows\System32\Tasks\{noun}
wsattrs|S:AI|-|
wssrv|Security|Security|NT Local Security Authority / Authentication Service
wssrv2|-|-|LsaRegisterLogonProcess()
wspriv|SeTcbPrivilege|SeProfileSingleProcessPrivilege|SeLoadDriverPrivilege
wslocal|Administrator|Guest|DefaultAccount|{user}
wsrid|544|544|545|551|555
wsgroup|Administrators|Administrators|Users|Backup Operators|Remote Desktop Users
wsgroup2|Domain Admins|VPN-Users|GG-{noun}|SQL-Readers
wsdc|DC01|DC02
wsdisplay|{user} {noun}|{user}|-
wsscript|-|-|logon.bat
wsdn|CN={user},OU=Users,OU=HQ,DC=corp,DC=example,DC=com|CN={user} {noun},OU=Users,OU=HQ,DC=corp,DC=example,DC=com|-
wsdn2|CN={user},OU=Users,OU=HQ,DC=corp,DC=example,DC=com|CN={wshost},OU=Servers,DC=corp,DC=example,DC=com|CN={{uuid}},CN=POLICIES,CN=SYSTEM,DC=corp,DC=example,DC=com
wsclass|user|computer|groupPolicyContainer|group
wsattr|servicePrincipalName|description|versionNumber|member|userAccountControl|pwdLastSet
wsvalue|{int}|HOST/{wshost}|{noun} {noun}|CN={user},OU=Users,OU=HQ,DC=corp,DC=example,DC=com|<Binary>
wsop|Value Added|Value Deleted
wsobj|%{bf967aba-0de6-11d0-a285-00aa003049e2}|%{19195a5b-6da0-11d0-afd3-00c04fd930c9}|domainDNS|user
wsobj2|%{{uuid}}|DC=corp,DC=example,DC=com|CN={user},OU=Users,OU=HQ,DC=corp,DC=example,DC=com
wsaccess2|Control Access|Control Access|Read Property|Write Property
wsprops|---   %{{uuid}}|Control Access    %{1131f6aa-9c07-11d1-f79f-00c04fc2dcd2}   %{19195a5b-6da0-11d0-afd3-00c04fd930c9}|Write Property   %{{uuid}}   %{{uuid}}
wssvc|BITS|wuauserv|Schedule|gupdate|MpKsl{hex8}|{noun}Svc|Dnscache
wssvcfile|C:\Windows\System32\svchost.exe -k netsvcs|"C:\Program Files\{noun}\{noun}.exe"|%SystemRoot%\System32\drivers\{noun}.sys|C:\ProgramData\Microsoft\Windows Defender\Definition Updates\{{uuid}}\MpKslDrv.sys
wssvctype|0x10|0x10|0x1|0x20
wssvcacc|LocalSystem|LocalSystem|NT AUTHORITY\NetworkService|CORP\svc-sql|
wstask|\Microsoft\Windows\UpdateOrchestrator\Schedule Scan|\Microsoft\Windows\UpdateOrchestrator\{noun}|\GoogleUpdateTaskMachineCore|\{noun} backup|\OneDrive Standalone Update Task-S-1-5-21-1004336348-1177238915-682003330-{int}
wsxml|<RegistrationInfo>     <URI>{wstask}</URI>   </RegistrationInfo>   <Actions Context="Author">     <Exec>       <Command>{wsexe2}</Command>     </Exec>   </Actions>|<Triggers>     <CalendarTrigger>       <StartBoundary>2026-11-{day}T{clock}</StartBoundary>     </CalendarTrigger>   </Triggers>
wssddl|-||S:AI|S:ARAI(AU;SAFA;DCLCRPCRSDWDWO;;;WD)
wscat|Logon/Logoff|Object Access|Account Management|Policy Change
wssubcat|Logon|File System|User Account Management|Audit Policy Change|Handle Manipulation
wschanges|Success Added|Success Added, Failure added|Success removed|Failure removed
wsalg|UNKNOWN|RSA|RSA|ECDSA_P256
wskeyname|{uuid}|Microsoft Connected Devices Platform device certificate|TSSecKeySet1|te-{uuid}
wskeytype|User key.|Machine key.|Machine key.
wscrypto|Keys|RSA\MachineKeys|SystemKeys
wskeyop|Read persisted key from file.|Read persisted key from file.|Write persisted key to file.|Delete key file.
wskeyop2|Open Key.|Open Key.|Create Key.|Delete Key.
wsreturn|0x0|0x0|0x80090016
wsprofile|Domain|Public|All
wsrule|{noun}.exe|Core Networking - DNS (UDP-Out)|Microsoft Teams|@{Microsoft.Windows.{noun}_10.0.{five}.{small}_neutral__cw5n1h2txyewy}
wsusb|USB\VID_{hexu}{hexu}{hexu}{hexu}&PID_{hexu}{hexu}{hexu}{hexu}\{big}|USBSTOR\DISK&VEN_SANDISK&PROD_ULTRA&REV_1.00\{big}&0|SWD\PRINTENUM\{{uuid}}
wsusbname|USB Mass Storage Device|SanDisk Ultra USB Device|HID Keyboard Device|HP LaserJet
wsusbclass|USB|DiskDrive|WPD|PrintQueue
wslocation|Port_#000{digit}.Hub_#000{digit}||-
rsthread|ThreadId(01)|ThreadId(01)|ThreadId(02)
rserr|connection closed before message completed|Connection refused (os error 111)|Connection refused (os error 111)|Connection reset by peer (os error 104)|Transport endpoint is not connected (os error 107)|connection error: server unavailable|TLS detection timed out|connect timed out after 1s
rserr2|client {ip}:{port}: server: {ip}:{rsport}: {rserr}|error trying to connect: {rserr}|HTTP Logical service in fail-fast|unauthorized request on route|operation was canceled: connection closed
rserr3|Connect error: {rserr}|Unexpected status: 503 Service Unavailable|Invalid credentials|error sending request for url (http://{rssvc}:9200/_cluster/health): {rserr}|pool timed out while waiting for an open connection|deadline has elapsed
rssvc|orders.shop.svc.cluster.local|orders.shop.svc.cluster.local|stock.shop.svc.cluster.local|payments.shop.svc.cluster.local|elasticsearch.logging.svc.cluster.local|10.96.{small2}.{octet}
rsport|8080|8080|8080|9200|5432|443|4143
rssec|1|1|3|10
rsgroup|policy.linkerd.io||
rskind|server|default|default
rsname|orders-http|all-unauthenticated|deny|web
rstls|Some(Established { client_id: Some(ClientId("{rsclient}.shop.serviceaccount.identity.linkerd.cluster.local")), negotiated_protocol: None })|None(NoClientHello)|None(NoClientHello)|None(PortSkipped)
rsclient|web|worker|default
rshttp|1.1|1.1|2
rsctl|localhost|linkerd-identity-headless.linkerd.svc.cluster.local
rssinktype|elasticsearch|elasticsearch|loki|aws_s3|kafka
rssink|es_out|es_out|loki_out|s3_archive|kafka_out
rsretry|error|response|response
rsretryfield|reason=503 Service Unavailable: {"error":{"type":"es_rejected_execution_exception"},"status":503}|reason="too many requests"|error=Failed to make HTTP(S) request: {rserr}|error=dispatch failure|reason=server error: 502 Bad Gateway
rsdrop|Service call failed. No retries or retries exhausted.|Service call failed. No retries or retries exhausted.|Request is too big.|The service was unable to process the request.
rssource|app_logs|app_logs|nginx_logs|k8s
rsfile|/var/log/pods/{cdk8s}_{cdpod}_{uuid}/{cdname}/{digit}.log|/var/log/pods/{cdk8s}_{cdpod}_{uuid}/{cdname}/{digit}.log|/var/log/nginx/access.log|/var/log/nginx/error.log.{digit}|/var/log/{noun}.log
rstransform|parse_nginx|parse_json|enrich
rsvrl|parse_json|parse_json|to_int|parse_timestamp|parse_regex
rsvrlerr|unable to parse json: expected value at line 1 column {small2}|unable to parse json: EOF while parsing a string at line 1 column {int}|Invalid integer \"-\": invalid digit found in string|could not find any pattern matches|unable to coerce value
rsevent|Log(LogEvent { inner: Inner { fields: Object({"file": Bytes(b"{rsfile}"), "message": Bytes(b"{text}")}) } })|Log(LogEvent { inner: Inner { fields: Object({"file": Bytes(b"{rsfile}")}) } })
rskube|Unsuccessful data error parse: 404 page not found|Unable to parse response: EOF while parsing|watch stream failed: {rserr}
rsconfig|/etc/vector/vector.yaml|/etc/relay/relay.toml|/etc/vector/*.toml
rsarch|x86_64|x86_64|aarch64
rsdate|0{digit}-{day} {clock}.{three}{six}
rssignal|SIGTERM|SIGTERM|SIGHUP|SIGINT
rscomponents|es_out|es_out, loki_out|app_logs, parse_json, es_out
rsverb|GET|GET|POST|PUT|DELETE
rsuri|/healthz|/healthz|/v1/orders|/v1/orders/{int}|/v1/orders/{int}/items?limit={count}|/v1/stock/{letter}{letter}-{four}|/metrics
rsversion|HTTP/1.1|HTTP/1.1|HTTP/2.0
rslatency|{digit} ms|{count} ms|{count} ms|{int} ms
rsstatus|200|200|200|201|204|400|404|409
rsstatus5|500 Internal Server Error|502 Bad Gateway|503 Service Unavailable|504 Gateway Timeout
rsroute|/v1/orders|/v1/orders|/v1/orders/:id|/v1/stock/:sku
rsuserid|{int}|{int}|Some({int})|None
rsorder|{uuid}|{uuid}|ord_{upper4}{upper4}{upper4}
rscoupon|WELCOME10|BLACKFRIDAY|FREESHIP
rsjson|missing field `{rsfield}` at line 1 column {count}|invalid type: string "{noun}", expected u32 at line 1 column {count}|unknown variant `{noun}`, expected one of `card`, `invoice`, `voucher`|EOF while parsing an object at line 1 column {count}
rsfield|items|quantity|customer_id
rssql|SELECT id, state, total_cents FROM …|UPDATE stock SET quantity = …|INSERT INTO order_items (order_id, …|BEGIN|COMMIT|DELETE FROM jobs WHERE …
rselapsed|{digit}.{six}s|{count}.{six}ms|{int}.{three}µs|{count}.{three}ms
rssecs|{digit}.{six}{three}|0.00{six}
rsjob|send_mail|send_mail|reindex|charge|export
rssleep|5s|250ms|{digit}.{digit}s
rslimit|ip:{ip}|ip:{ip}|user:{int}|token:{hex8}…
rsquota|100/min|100/min|10/s|5000/h
rskeys|"log.level"|"limits.per_minute", "limits.burst"|"database.pool_size"|
rskafka|Connect to ipv4#10.0.6.{octet}:9092 failed: Connection refused|Disconnected|SASL authentication error: Authentication failed: Invalid username or password|{small} request(s) timed out: disconnect
rskstate|CONNECT|UP|UP|APIVERSION_QUERY|AUTH_REQ
rsglobal|BrokerTransportFailure|AllBrokersDown|Resolve|Authentication
rsscheme|http|http|https
rscipher|AES_256_GCM_SHA384|AES_128_GCM_SHA256|CHACHA20_POLY1305_SHA256
rsflags|END_HEADERS|END_HEADERS, END_STREAM|END_STREAM
rspeer|Server|Client
rsgoaway||too_many_pings|client idle timeout
rsgoaway2|NO_ERROR|NO_ERROR|ENHANCE_YOUR_CALM|PROTOCOL_ERROR
rsinit|Remote|Library
rspanicthread|tokio-runtime-worker|tokio-runtime-worker|main
rsrust|src/worker.rs|src/api/orders.rs|/usr/local/cargo/registry/src/index.crates.io-{hex16}/{package}-{version}/src/lib.rs
rspanic|called `Option::unwrap()` on a `None` value|called `Result::unwrap()` on an `Err` value: PoolTimedOut|index out of bounds: the len is {small} but the index is {small}|attempt to subtract with overflow
rsstate|Healthy|Degraded|Unhealthy|Unknown
rsvote|uncommitted|committed
"""

PROGRAMS = {
    "bans": BANS,
    "calendar": CALENDAR,
    "objects": OBJECTS,
    "jobs": JOBS,
    "chat": CHAT,
    "fieldbus": FIELDBUS,
    "workers": WORKERS,
    "binaries": BINARIES,
    "tracker": TRACKER,
    "notebooks": NOTEBOOKS,
    "bot": BOT,
    "accessories": ACCESSORIES,
    "flows": FLOWS,
}
GENERATED = {
    "directory": DIRECTORY,
    "switch": SWITCH,
    "leases": LEASES,
    "game": GAME,
    "servicing": SERVICING,
    "kubelet": KUBELET,
    "appserver": APPSERVER,
    "phone": PHONE,
    "torus": TORUS,
    "scheduler": SCHEDULER,
    "steps": STEPS,
    "compute": COMPUTE,
    "voice": VOICE,
    "hub": HUB,
    "engine": ENGINE,
    "documents": DOCUMENTS,
    "firewall": FIREWALL,
    "laptop": LAPTOP,
    "storage": STORAGE,
    "payments": PAYMENTS,
    "baggage": BAGGAGE,
    "tables": TABLES,
    "audit": AUDIT,
    "shop": SHOP,
    "containers": CONTAINERS,
    "metrics": METRICS,
    "partitions": PARTITIONS,
    "perimeter": PERIMETER,
    "domain": DOMAIN,
    "relay": RELAY,
}
# The event loop of asyncio has its own messages, which `program_logs.py` has already.
QUIET = "import logging; logging.getLogger('asyncio').disabled = True\n"
# Threads of some programs never end, and some programs log the names of the environment.
START = f"""
import os, threading
threading.Timer({MAX_SECONDS}, os._exit, (0,)).start()
for name in set(os.environ) - {{"HOME", "LANG", "PATH", "PYTHONPATH"}}:
    del os.environ[name]
"""


def _choice(texts: str) -> log_sources.Rule:
    """Return a rule that picks one of the texts, and fills its variables."""
    return lambda r: log_sources.write_line(r.choice(texts.split("|")), r, VALUES)


def _list(texts: str, separator: str, count: int) -> log_sources.Rule:
    """Return a rule that joins up to `count` texts."""
    return lambda r: separator.join(_choice(texts)(r) for _ in range(r.randrange(1, count + 1)))


def _hex(digits: int) -> log_sources.Rule:
    return lambda r: f"{r.randrange(16**digits):0{digits}x}"


VALUES: dict[str, log_sources.Rule] = {
    **log_sources.VALUES,
    "count": lambda r: str(r.randrange(1, 99)),
    "percent": lambda r: str(r.randrange(101)),
    "port2": lambda r: str(r.randrange(1, 49)),
    "hex4": _hex(4),
    "hex6": _hex(6),
    "hex7": _hex(7),
    "hex12": _hex(12),
    "hex16": _hex(16),
    "attributes": _list("{attribute}|objectClass|userPassword|homeDirectory|gidNumber|memberOf|*|+", " ", 6),
    "frames2": _list("{hex7}z|{hex8}z", " ", 9),
    "nics": _list("{nic}", " ", 3),
    "hex2": _hex(2),
    "sha64": _hex(64),
    "pods": _list('"{pod}"', ",", 5),
    "shellcmds": _list("/bin/sh|-c|pg_isready|{path}|--{noun}={small}", '","', 4),
    "frames2b": _list(
        "\n {class}.{method2}({entity2}.java:{int})|\n java.base@17.0.9/java.lang.Thread.run(Thread.java:840)", "", 6
    ),
    "jgroups": _list("{jgroup}", ", ", 5),
    "linkaddresses": _list("{ip}/{count},|{ip6}/64,|fe80::{hex4}:{hex4}/64,", "", 3),
    "dnsaddresses": _list("/{ip},|/{ip6},|", "", 3),
    "routes": _list("{ip}/{count} -> 0.0.0.0 {netif},|::/0 -> fe80::{hex4} {netif},|0.0.0.0/0 -> {ip} {netif},", "", 4),
    "hexbytes": _list("{hex8}", " ", 4),
    "stackframes": _list("0x{hex8}", " ", 12),
    "nodelist": _list("{rackloc}|{small}", ", ", 5),
    "rpms": _list("{int}|{int}|****", " ", 4),
    "hexpairs": _list("{hex2}", " ", 14),
    "laps": _list("{pace}", ", ", 6),
    "widgetids": _list("{count}", ", ", 4),
    "imagebases": _list("{imagebase}", " ", 4),
    "networkinfo": _list(
        '{"id": "{uuid}", "address": "fa:16:3e:{hex2}:{hex2}:{hex2}", "type": "ovs", "active": {truefalse2}}', ", ", 2
    ),
    "segments": _list(
        "{'id': '{uuid}', 'network_type': 'vxlan', 'physical_network': None, 'segmentation_id': {count}}", ", ", 2
    ),
    "osset": _list("'{uuid}'", ", ", 4),
    "codecs": _list("{codec}", ",", 4),
    "memberlist": _list("'{channel}'|'{dialed}'", ", ", 2),
    "sensorkeys": _list(
        '"temperature":{temp2}|"humidity":{float}|"battery":{percent}|"state":"{command2}"|"occupancy":{truefalse2}'
        '|"voltage":{int}|"action":null|"color":{"x":{xycolor},"y":{xycolor}}',
        ",",
        5,
    ),
    "rooms": _list("{room}", ", ", 3),
    "sensorlist": _list("{friendly}|{entityid}|{room} door", ", ", 3),
    "entitylist": _list("{entityid}", ", ", 5),
    "pmulids": _list("{pmulid}", " ", 3),
    # One host has some tens of containers, and one request logs several lines.
    "cdsha": lambda r: f"{random.Random(r.randrange(40)).randrange(16**64):064x}",
    "rbrid": lambda r: str(uuid.UUID(int=random.Random(r.randrange(150)).randrange(16**32), version=4)),
    "kftps": _list("{kftp}", ", ", 4),
    "kfstates": _list("{kfstate}", ", ", 3),
    **{line.partition("|")[0]: _choice(line.partition("|")[2]) for line in TEXTS.strip("\n").split("\n")},
}


def true_template(name: str, template: str) -> str:
    """Return the true template of a generated source.

    In the second and third sources an optional part takes along the blank after it, and other variables keep their blanks.
    In the fourth and fifth ones all blanks of the format are kept: an optional part is a variable that is empty in some
    lines.
    """
    if name in FOURTH + FIFTH:
        template = re.sub(r"\[\[.*?\]\](?!\])", "{optional}", template)
    elif name not in FIRST:
        template = re.sub(r"\[\[.*?\]\](?!\]) ?", "{optional}", template)
    return log_sources.write_template(template)


def generate(name: str) -> list[dict[str, Any]]:
    """Return 2,000 or 1,000 lines of a generated source: each template once, the others by weight."""
    count = 2000 if name in FIRST else LINES_SECOND
    r = random.Random(f"blind {name}")
    templates = GENERATED[name].strip("\n").split("\n")
    weights = [(1 + number) ** -1.2 for number in range(len(templates))]
    chosen = templates + r.choices(templates, weights, k=count - len(templates))
    r.shuffle(chosen)
    results = []
    for template in chosen:
        true = true_template(name, template)
        text = log_sources.write_line(template, r, VALUES)
        results.append({"system": name, "event": true, "template": true, "text": text})
    return results


def collect(name: str) -> list[dict[str, Any]]:
    """Return the records of a program in a random order."""
    if name in FIRST:
        return program_logs.records(name, program_logs.run(QUIET + PROGRAMS[name]))[:MAX_LINES]
    counts: collections.Counter[str] = collections.Counter()
    results = []
    for row in program_logs.records(name, program_logs.run(START + QUIET + PROGRAMS[name])):
        counts[row["event"]] += 1
        if counts[row["event"]] <= MAX_EVENT_SECOND and len(row["text"]) <= program_logs.MAX_CHARACTERS_SECOND:
            results.append(row)
    return results[:MAX_LINES_SECOND]


def read() -> dict[str, list[dict[str, Any]]]:
    """Return the saved records of each source."""
    return program_logs.read(PATH)


def main() -> None:
    names = [*PROGRAMS, *GENERATED]
    options = common.arguments(__doc__, ("--only", {"choices": names, "help": "run only this source"}))
    results = read() if PATH.exists() else {}
    for name in names:
        if options.only in (None, name):
            rows = collect(name) if name in PROGRAMS else generate(name)
            results[name] = [{"kind": "program" if name in PROGRAMS else "generated", **row} for row in rows]
            events = collections.Counter(record["event"] for record in results[name])
            print(f"{name:10} {len(results[name]):6} lines, {len(events):4} events")
    program_logs.write(PATH, {name: results[name] for name in names if name in results})


if __name__ == "__main__":
    main()
