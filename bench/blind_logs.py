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

After a measurement the errors of seven of the fourth and four of the fifth sources were read. The sixth sources were
written then, in the same way, half of them in the manner of systems of LogHub that are not in the shared data:

- generated: *thunder* (the syslog of a supercomputer, as Thunderbird), *cluster2* (the nodes of a cluster, as HPC),
  *proxifier* (a proxy client), *handset* (Android) and *racks* (the events of a Blue Gene/L); *sqlserver* (the error log of
  SQL Server), *rabbit* (RabbitMQ), *hypervisor* (VMware ESXi), *build* (Jenkins, runners of GitLab, builds of images) and
  *journal* (a server with Ubuntu)

After a measurement the errors of five of those were read. What is sealed chose no rule. The templates of generated sources
and their values are in `blind_logs.txt`.

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
from pathlib import Path
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
    "proxifier",
    "sqlserver",
    "rabbit",
    "hypervisor",
    "journal",
)
CHOOSING = (*FIRST, *SECOND, *THIRD, *LATER)
"""Sources whose errors were read after a blind test, so that rules may be chosen on them; the others are sealed."""
MAX_LINES = 2500
"""Lines of a program, so that the file stays small: `program_logs.records` returns them in a random order."""
FOURTH = ("engine", "documents", "firewall", "laptop", "storage", "payments", "baggage")
"""The generated sources among the fourth ones."""
FIFTH = ("tables", "audit", "shop", "containers", "metrics", "partitions", "perimeter", "domain", "relay")
"""The fifth sources, which are all generated."""
SIXTH = (
    *("thunder", "cluster2", "proxifier", "handset", "racks"),
    *("sqlserver", "rabbit", "hypervisor", "build", "journal"),
)
"""The sixth sources, which are all generated."""
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


# A variable of the generated sources, and the texts of which one is picked; a text may have variables.


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
SOURCES = {
    part.partition("\n")[0]: part.strip("\n").split("\n")[1:]
    for part in re.split("^== ", Path(__file__).with_suffix(".txt").read_text(), flags=re.MULTILINE)[1:]
}
"""The templates of each generated source, and under `values` those of variables, each with its name before it."""
GENERATED = [name for name in SOURCES if name != "values"]
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
    **{line.partition("|")[0]: _choice(line.partition("|")[2]) for line in SOURCES["values"]},
}


def true_template(name: str, template: str) -> str:
    """Return the true template of a generated source.

    In the second and third sources an optional part takes along the blank after it, and other variables keep their blanks.
    In the fourth and later ones all blanks of the format are kept: an optional part is a variable that is empty in some
    lines.
    """
    if name in FOURTH + FIFTH + SIXTH:
        template = re.sub(r"\[\[.*?\]\](?!\])", "{optional}", template)
    elif name not in FIRST:
        template = re.sub(r"\[\[.*?\]\](?!\]) ?", "{optional}", template)
    return log_sources.write_template(template)


def generate(name: str) -> list[dict[str, Any]]:
    """Return 2,000 or 1,000 lines of a generated source: each template once, the others by weight."""
    count = 2000 if name in FIRST else LINES_SECOND
    r = random.Random(f"blind {name}")
    templates = SOURCES[name]
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
