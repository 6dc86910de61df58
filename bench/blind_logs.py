"""Logs for a blind test of templates: `bench/data/blind_logs.jsonl.gz`.

    PYTHONPATH=python:LIBRARIES python bench/blind_logs.py [--only NAME]

Real programs run with the hook of `program_logs.py`, so that each line's template is the format of its logging call.
Their authors wrote the texts, and whoever wrote this file had not read the miner. Only loopback addresses are used.

- *bans*: log files watched for attacks (fail2ban); *calendar*: a CalDAV server (radicale); *objects*: an object database
  (ZEO, ZODB); *jobs*: task queues (dramatiq, huey); *chat*: a Matrix server (synapse)

The other sources are generated from templates in the manner of known daemons, with the rules of `log_sources.py`:
*directory* (OpenLDAP), *switch* (Cisco IOS), *leases* (ISC dhcpd) and *game* (a Minecraft server). The n-th template of
a source is chosen with a weight of n^-1.2, so that some events are rare.

After one measurement of all, rules were chosen on the sources in `CHOOSING`.

`LIBRARIES` is a folder into which pip installed radicale, ZEO, dramatiq, huey and matrix-synapse, and the folder of
Debian's fail2ban. Ports are chosen at random, and threads race: a second run gives other lines.
"""

# The programs and templates are texts: lines of logs, and sources that nobody imports.
# ruff: noqa: E501

from __future__ import annotations

import collections
import random
from typing import Any

import common
import log_sources
import program_logs

PATH = common.DATA / "blind_logs.jsonl.gz"
CHOOSING = ("bans", "calendar", "directory", "game")
"""Sources whose errors were read after the blind test, so that rules may be chosen on them; the others are sealed."""
MAX_LINES = 2500
"""Lines of a program, so that the file stays small: `program_logs.records` returns them in a random order."""

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

# A variable of the generated sources, and the texts of which one is picked; a text may have variables.
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
"""

PROGRAMS = {
    "bans": BANS,
    "calendar": CALENDAR,
    "objects": OBJECTS,
    "jobs": JOBS,
    "chat": CHAT,
}
GENERATED = {"directory": DIRECTORY, "switch": SWITCH, "leases": LEASES, "game": GAME}
# The event loop of asyncio has its own messages, which `program_logs.py` has already.
QUIET = "import logging; logging.getLogger('asyncio').disabled = True\n"


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
    **{line.partition("|")[0]: _choice(line.partition("|")[2]) for line in TEXTS.strip("\n").split("\n")},
}


def generate(name: str) -> list[dict[str, Any]]:
    """Return 2,000 lines of a generated source: each template once, the others by weight."""
    r = random.Random(f"blind {name}")
    templates = GENERATED[name].strip("\n").split("\n")
    weights = [(1 + number) ** -1.2 for number in range(len(templates))]
    chosen = templates + r.choices(templates, weights, k=2000 - len(templates))
    r.shuffle(chosen)
    results = []
    for template in chosen:
        true = log_sources.write_template(template)
        text = log_sources.write_line(template, r, VALUES)
        results.append({"system": name, "event": true, "template": true, "text": text})
    return results


def read() -> dict[str, list[dict[str, Any]]]:
    """Return the saved records of each source."""
    return program_logs.read(PATH)


def main() -> None:
    names = [*PROGRAMS, *GENERATED]
    options = common.arguments(__doc__, ("--only", {"choices": names, "help": "run only this source"}))
    results = read() if PATH.exists() else {}
    for name in names:
        if options.only in (None, name):
            if name in PROGRAMS:
                rows = program_logs.records(name, program_logs.run(QUIET + PROGRAMS[name]))[:MAX_LINES]
            else:
                rows = generate(name)
            results[name] = [{"kind": "program" if name in PROGRAMS else "generated", **row} for row in rows]
            events = collections.Counter(record["event"] for record in results[name])
            print(f"{name:10} {len(results[name]):6} lines, {len(events):4} events")
    program_logs.write(PATH, {name: results[name] for name in names if name in results})


if __name__ == "__main__":
    main()
