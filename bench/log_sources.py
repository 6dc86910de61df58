"""Generated logs whose templates are known: 17 sources in the manner of common programs.

Each source is a list of templates. `{kind}` is a variable, drawn by a rule of `VALUES`; `[[...]]` is an optional
part, present in half of the lines; `~~...~~` are fields that are separated by blanks and printed in any order. The
variation is that of real logs: optional parts, values of several types at one position, rare constants next to frequent
variables, leader dots and missing readings, lists of any length, quoted strings, JSON, stack traces.

The sources are divided into three parts. Rules and constants of `nearkin.patterns` may be chosen on `CHOOSING`.
`SHOWING` shows what they reach. `SEALED` was written with the others, before the rules, and was measured once, at the
end.
"""

# The templates are lines of logs.
# ruff: noqa: E501, SIM905

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

Rule = Callable[[random.Random], str]

FIRST = "ann bob cid dan eve fay gus hal ida jon kim leo max ned ola pia quin ray sue tom uma vic wes zoe".split()
NOUNS = "cache index batch shard report invoice ledger basket token queue bucket stream window parcel ticket".split()
TEXTS = (
    "disk is full;no route to host;file not found;permission denied by policy;checksum does not match;"
    "peer closed the stream early;quota exceeded;unexpected end of input;lock is held by another process;retry later"
).split(";")
TOP = ["com", "org", "net", "io"]


def _number(low: int, high: int) -> Rule:
    return lambda r: str(r.randrange(low, high))


def _letters(r: random.Random, low: int, high: int) -> str:
    return "".join(r.choice("abcdefghiklmnoprstuvw") for _ in range(r.randrange(low, high)))


def _ip(r: random.Random) -> str:
    return ".".join(str(r.randrange(1, 255)) for _ in range(4))


def _host(r: random.Random) -> str:
    return f"{r.choice(['db', 'web', 'app', 'mx', 'cdn'])}{r.randrange(1, 30)}.{_letters(r, 4, 8)}.{r.choice(TOP)}"


def _path(r: random.Random) -> str:
    return "/" + "/".join(_letters(r, 3, 8) for _ in range(r.randrange(1, 5))) + r.choice(["", ".log", ".py", ".conf"])


def _hex(digits: int) -> Rule:
    return lambda r: f"{r.randrange(16**digits):0{digits}x}"


def _json(r: random.Random) -> str:
    keys = r.sample(["id", "user", "ok", "tags", "note", "size"], r.randrange(1, 5))
    value = {"id": r.randrange(10**6), "user": r.choice(FIRST), "ok": r.random() < 0.5, "tags": r.sample(NOUNS, 2)}
    value |= {"note": r.choice(TEXTS), "size": r.random()}
    return json.dumps({key: value[key] for key in keys})


def _either(rate: float, rare: str, rule: Rule) -> Rule:
    return lambda r: rare if r.random() < rate else rule(r)


def _list(rule: Rule, separator: str, most: int) -> Rule:
    return lambda r: separator.join(rule(r) for _ in range(r.randrange(1, most)))


def _frames(r: random.Random) -> str:
    def frame() -> str:
        name = f"{r.choice(TOP)}.{_letters(r, 4, 7)}.{_letters(r, 4, 8).title()}"
        return f"\tat {name}.{_letters(r, 3, 7)}({_letters(r, 4, 8).title()}.java:{r.randrange(1, 900)})"

    return "\n".join(frame() for _ in range(r.randrange(1, 9)))


_INT, _BIG = _number(0, 5000), _number(10**6, 10**9)
VALUES: dict[str, Rule] = {
    "int": _INT,
    "big": _BIG,
    "small": _number(0, 9),
    "port": _number(1024, 65535),
    "pid": _number(100, 40000),
    "float": lambda r: f"{r.random() * 100:.3f}",
    "either": lambda r: str(r.randrange(10**4)) if r.random() < 0.7 else f"{r.randrange(10, 16**4):x}",
    "hex": lambda r: f"0x{r.randrange(16**6):x}",
    "hex8": _hex(8),
    "sha": _hex(40),
    "uuid": lambda r: f"{_hex(8)(r)}-{_hex(4)(r)}-{_hex(4)(r)}-{_hex(4)(r)}-{_hex(12)(r)}",
    "ip": _ip,
    "ipport": lambda r: f"{_ip(r)}:{r.randrange(1024, 65535)}",
    "host": _host,
    "hostport": lambda r: f"{_host(r)}:{r.randrange(1024, 65535)}",
    "source": _either(0.01, "LOCAL(0)", _ip),
    "client": _either(0.02, "localhost", _ip),
    "mac": lambda r: ":".join(_hex(2)(r) for _ in range(6)),
    "user": lambda r: r.choice(FIRST),
    "few": lambda r: r.choice(FIRST[:5]),
    "noun": lambda r: r.choice(NOUNS),
    "name": lambda r: f"{r.choice(NOUNS)}-{r.randrange(1, 40)}",
    "node": lambda r: f"node-{r.randrange(1, 300)}",
    "package": lambda r: f"{_letters(r, 3, 9)}{r.choice(['', '-core', '-utils', '_sys'])}",
    "class": lambda r: f"{r.choice(TOP)}.{_letters(r, 4, 7)}.{_letters(r, 4, 9).title()}",
    "unit": lambda r: f"{_letters(r, 4, 9)}.service",
    "version": lambda r: f"{r.randrange(3)}.{r.randrange(20)}.{r.randrange(30)}",
    "path": _path,
    "url": lambda r: f"http://{_host(r)}{_path(r)}",
    "ms": lambda r: f"{r.randrange(1, 3000)}ms",
    "secs": lambda r: f"{r.random() * 20:.2f}s",
    "size": lambda r: f"{r.random() * 90:.2f} {r.choice(['KB', 'MB', 'GB'])}",
    "clock": lambda r: f"{r.randrange(24):02}:{r.randrange(60):02}:{r.randrange(60):02}",
    "lifetime": _either(0.2, "<1 sec", lambda r: f"{r.randrange(60):02}:{r.randrange(60):02}"),
    "null": _either(0.2, "null", _BIG),
    "work": lambda r: "null" if r.random() < 0.6 else f"WorkSource{{{r.randrange(10000, 10200)}}}",
    "dash": _either(0.3, "-", _number(1, 9000)),
    "ints": _list(_INT, ", ", 8),
    "words": _list(lambda r: r.choice(NOUNS), ", ", 6),
    "nodes": _list(lambda r: f"node{r.randrange(1, 300)}", ",", 7),
    "text": lambda r: r.choice(TEXTS),
    "json": _json,
    "frames": _frames,
    "reading": _number(3000, 4000),
    "yesno": lambda r: r.choice(["yes", "no"]),
}

NGINX = r"""
worker process {pid} exited with code {small}
worker process {pid} exited on signal {small}
start worker processes
start worker process {pid}
signal {small} (SIGCHLD) received from {pid}
signal process started
reconfiguring
gracefully shutting down
exiting
using the "epoll" event method
*{int} open() "{path}" failed ({small}: No such file or directory), client: {ip}, server: {host}, request: "GET {path} HTTP/1.1", host: "{host}"
*{int} upstream timed out ({small}: Connection timed out) while reading response header from upstream, client: {ip}, upstream: "{url}"
*{int} connect() failed ({small}: Connection refused) while connecting to upstream, client: {ip}, upstream: "{url}"
*{int} client intended to send too large body: {big} bytes, client: {ip}
*{int} limiting requests, excess: {float} by zone "{noun}", client: {client}
*{int} SSL_do_handshake() failed (SSL: error:{hex8}:SSL routines) while SSL handshaking, client: {ip}
*{int} access forbidden by rule, client: {ip}, server: {host}
cache manager process exited with code {small}
http file cache: {path} {float}M, bsize: {int}
the configuration file {path} syntax is ok
could not build optimal types_hash, you should increase either types_hash_max_size: {int} or types_hash_bucket_size: {small}; ignoring types_hash_bucket_size
"""

SSHD = r"""
Accepted publickey for {user} from {ip} port {port} ssh2
Accepted password for {user} from {client} port {port} ssh2
Failed password for {user} from {ip} port {port} ssh2
Failed password for invalid user {user} from {ip} port {port} ssh2
Invalid user {user} from {ip}
Connection closed by {ip} [preauth]
Connection reset by {ip} port {port}
Received disconnect from {ip}: {small}: disconnected by user
Disconnected from user {user} {ip} port {port}
pam_unix(sshd:session): session opened for user {user} by (uid={small})
pam_unix(sshd:session): session closed for user {user}
Server listening on {ip} port {port}.
error: maximum authentication attempts exceeded for {user} from {ip} port {port} ssh2
Did not receive identification string from {client}
Bad protocol version identification '{text}' from {ip} port {port}
fatal: Timeout before authentication for {ip}
reverse mapping checking getaddrinfo for {host} [{ip}] failed.
subsystem request for sftp by user {few}
User {few} from {ip} not allowed because not listed in AllowUsers
Postponed keyboard-interactive for {user} from {ip} port {port} ssh2
"""

SYSTEMD = r"""
Started {unit}.
Starting {unit}...
Stopped {unit}.
Stopping {unit}...
Reloading.
{unit}: Main process exited, code=exited, status={small}
{unit}: Failed with result 'exit-code'.
{unit}: Scheduled restart job, restart counter is at {int}.
{unit}: Consumed {secs} CPU time[[ ({size} memory peak)]].
Created slice user-{pid}.slice.
Session {int} of user {user} opened.
Session {int} logged out. Waiting for processes to exit.
Removed session {int}.
Mounted {path}.
Unmounted {path}.
Startup finished in {secs} (kernel) + {secs} (userspace) = {secs}.
Listening on {path}.
Reached target {noun}.
Dependency failed for {unit}.
Job {unit} failed with result '{noun}'.
Time has been changed
Watchdog timeout (limit {small}min)!
{unit}: Killing process {pid} ({package}) with signal SIGKILL.
"""

CARGO = r"""
   Compiling {package} v{version}
   Compiling {package} v{version} ({path})
    Checking {package} v{version}
 Downloading {package} v{version}
  Downloaded {int} crates ({size}) in {secs}
    Finished `release` profile [optimized] target(s) in {secs}
    Updating crates.io index
     Running `rustc --crate-name {package} {path} --cfg {noun}`
       Fresh {package} v{version}
    Blocking waiting for file lock on package cache
     Locking {int} packages to latest compatible versions
      Adding {package} v{version} (latest: v{version})
warning: unused variable: `{noun}`
warning: `{package}` (lib) generated {int} warnings
error: could not compile `{package}` (lib) due to {int} previous errors
test {noun}::tests::{package} ... ok
test {noun}::tests::{package} ... FAILED
test result: ok. {int} passed; {int} failed; {int} ignored; finished in {secs}
     Removed {int} files, {size} total
"""

SERVICE = r"""
Request {uuid} from {ip} finished in {ms} status={int}
Request {uuid} from {ip} rejected: quota of {few} exceeded
Loaded {int} entries into {noun} in {ms}
Evicted keys [{ints}] from {noun}
Consumer {name} assigned partitions [{ints}]
Heartbeat from {node} delayed by {ms}
Payload {json} accepted
Config changed: key={noun} old={null} new={null}
Retry {small} of {small} for job {name}: {text}
Job {name} failed with message "{text}"
Connection pool stats (total={int}, active={int}, idle={int}, waiting={int})
Metrics ~~cpu={float} mem={int} load={float} disk={int}~~
Unhandled error in handler {class}: {text}
{frames}
java.lang.IllegalStateException: state of {noun} is {small}
{frames}
Shutting down executor {name}
Lock {hex8} released, owner={work}, waiters={small}
GC pause (young) {secs}, {int}M->{int}M({int}M)
"""

POSTGRES = r"""
database system is ready to accept connections
checkpoint starting: time
checkpoint complete: wrote {int} buffers ({float}%); {small} WAL file(s) added, {small} removed; write={float} s, sync={float} s
connection received: host={client} port={port}
connection authorized: user={user} database={noun}[[ application_name={package}]]
disconnection: session time: {clock} user={user} database={noun} host={ip} port={port}
duration: {float} ms  statement: SELECT * FROM {noun} WHERE id = {int}
duration: {float} ms  execute {package}: UPDATE {noun} SET size = {int}
automatic vacuum of table "{noun}.public.{package}": index scans: {small}
automatic analyze of table "{noun}.public.{package}" system usage: CPU {secs}
relation "{package}" does not exist at character {int}
duplicate key value violates unique constraint "{package}"
deadlock detected
Process {pid} waits for ShareLock on transaction {big}; blocked by process {pid}.
could not receive data from client: Connection reset by peer
unexpected EOF on client connection with an open transaction
canceling statement due to statement timeout
temporary file: path "{path}", size {big}
parameter "{package}" changed to "{int}"
password authentication failed for user "{user}"
received fast shutdown request
archived write-ahead log file "{sha}"
recovery restart point at {int}/{hex8}
"""

PYTEST = r"""
{path}::test_{package} PASSED [[[ {int}%]]]
{path}::test_{package} FAILED
{path}::test_{package} SKIPPED ({text})
collected {int} items
rootdir: {path}
plugins: {nodes}
E       AssertionError: assert {int} == {int}
E       KeyError: '{noun}'
E       ValueError: invalid literal for int() with base {small}: '{package}'
{path}:{int}: AssertionError
{path}:{int}: DeprecationWarning: {noun} is deprecated
============ {int} passed, {int} warnings in {secs} ============
============ {int} failed, {int} passed in {secs} ============
setup of fixture {package} took {ms}
Traceback (most recent call last):
{frames}
worker {node} restarted after crash
cachedir: {path}
timeout >{float}s in test {package}
random seed: {big}
"""

KERNEL = r"""
eth{small}: link up, {int}Mbps, full-duplex, lpa {hex}
eth{small}: link down
usb {small}-{small}: new high-speed USB device number {int} using xhci_hcd
usb {small}-{small}: USB disconnect, device number {int}
CPU{small}: Core temperature above threshold, cpu clock throttled (total events = {int})
Out of memory: Killed process {pid} ({package}) total-vm:{big}kB, anon-rss:{big}kB
EXT4-fs ({package}): mounted filesystem with ordered data mode. Opts: {noun}
nf_conntrack: table full, dropping packet
TCP: request_sock_TCP: Possible SYN flooding on port {port}. Sending cookies.
audit: type={int} audit({float}:{int}): pid={pid} uid={int} auid={null} ses={null} msg='op={noun} acct="{user}"'
perf: interrupt took too long ({int} > {int}), lowering kernel.perf_event_max_sample_rate to {int}
INFO: task {package}:{pid} blocked for more than {int} seconds.
debug interrupt enable.............{small}
machine check enable...............{small}
data address space.................{small}
store operation....................{small}
instruction address space..........{small}
memory used [{ints}] of node {small}
BUG: soft lockup - CPU#{small} stuck for {int}s! [{package}:{pid}]
device {package} entered promiscuous mode
martian source {ip} from {ip}, on dev eth{small}
md: data-check of RAID array md{small}
{package}[{pid}]: segfault at {hex8} ip {hex8} sp {hex8} error {small}
"""

PROXY = r"""
{hostport} open through proxy {hostport} HTTPS
{hostport} open through proxy {hostport} SOCKS5
{hostport} close, {int} bytes[[ ({size})]] sent, {int} bytes[[ ({size})]] received, lifetime {lifetime}
{hostport} error : Could not connect to proxy {hostport} - connection attempt failed with error {int}
{hostport} error : Could not connect through proxy {hostport} - Proxy closed the connection unexpectedly.
{hostport} error : A connection request was canceled before the completion.
rule "{text}" matched {hostport}
profile {package} loaded[[ (revision {int})]]
DNS query {host} answered with [{ints}]
DNS query {host} timed out after {ms}
tunnel {hex8} ~~in={big} out={big} rtt={ms}~~
synchronized to {source}, stratum {small}
time reset {float} s
license check: {yesno}
"""

DEVICE = r"""
acquire lock={big}, flags={hex}, tag="{noun}", name={package}, ws={work}, uid={pid}, pid={pid}
release lock={big}, flg={hex}, tag="{text}", name={package}, ws={work}, uid={pid}, pid={pid}
setVisibility vis={either} mask={either} old={either} diff={either}
new process {package} for service {class} pid={pid} cause={null}
Destroying surface Surface(name={package}) called by {class}
key {int}|{package}|{int}|{null}|{pid} removed
battery level {int} temperature {float} plugged={small}
battery level unknown
screen turned on
screen turned off
location request from {package} ignored[[ (age {ms})]]
broadcast {class} delivered to [{words}]
touch x={float}, y={float}
sensor {small} reading {dash}
wifi scan found {int} networks [{nodes}]
wakelock {hex8} held for {ms}
orientation changed from {small} to {small}
intent Intent { act={class} flg={hex} cmp={class} } resolved
app {package} crashed: {text}
install of {package} version {version} finished
"""

POSTFIX = r"""
connect from {host}[{ip}]
disconnect from {host}[{ip}] ehlo={small} mail={small} rcpt={small} quit={small}
{hex8}: client={host}[{ip}]
{hex8}: message-id=<{hex8}@{host}>
{hex8}: from=<{user}@{host}>, size={int}, nrcpt={small} (queue active)
{hex8}: to=<{user}@{host}>, relay={host}[{ip}]:{port}, delay={float}, dsn={version}, status=sent ({int} accepted)
{hex8}: to=<{user}@{host}>, relay=none, delay={float}, dsn={version}, status=deferred (connect to {host}[{ip}]:{port}: Connection timed out)
{hex8}: removed
NOQUEUE: reject: RCPT from {host}[{ip}]: {int} {version} Relay access denied; from=<{user}@{host}> to=<{user}@{host}>
lost connection after AUTH from {host}[{ip}]
lost connection after DATA ({int} bytes) from {host}[{ip}]
statistics: max connection rate {int}/60s for (smtp:{ip}) at {clock}
statistics: max cache size {int} at {clock}
warning: hostname {host} does not resolve to address {client}
warning: {host}[{ip}]: SASL LOGIN authentication failed: {text}
SSL_accept error from {host}[{ip}]: {null}
refreshing the Postfix mail system
daemon started -- version {version}, configuration {path}
table {path}({package}) has changed -- restarting
"""

CLUSTER = r"""
Successfully assigned {noun}/{name} to {node}
Pulling image "{package}:{version}"
Successfully pulled image "{package}:{version}" in {secs}[[ ({secs} including waiting)]]
Created container {package}
Started container {package}
Killing container with id {sha}:Need to kill Pod
Back-off restarting failed container {package} in pod {name}
Liveness probe failed: HTTP probe failed with statuscode: {int}
Readiness probe failed: Get "{url}": context deadline exceeded
Scaled up replica set {name} to {small}[[ from {small}]]
Node {node} status is now: NodeReady
Node {node} status is now: NodeNotReady
evicting pod {name}: memory usage {size} exceeds {size}
failed to sync {noun} cache: {text}
event {json} dropped
lease {uuid} ~~holder={node} ttl={int} epoch={int}~~
volumes [{words}] not attached or mounted by {node}
leader changed from {node} to {null}
quota used {dash} of {int}
Deleted pod: {name}
"""

BALANCER = r"""
{ipport} [{clock}] {noun} {name}/{node} {small}/{small}/{int}/{int}/{int} {int} {int} "GET {path} HTTP/1.1"
Server {noun}/{node} is DOWN, reason: Layer4 timeout, check duration: {ms}. {small} active and {small} backup servers left.
Server {noun}/{node} is UP, reason: Layer7 check passed, code: {int}, check duration: {ms}.
backend {noun} has no server available!
Proxy {noun} started.
Stopping proxy {noun} in {int} ms.
session {hex8} closed, {int} bytes[[ ({size})]] in, {int} bytes[[ ({size})]] out
health {noun} ~~rise={small} fall={small} weight={int} cur={int}~~
certificate for {host} expires in {int} days
stick table {noun} key {client} value {int}
config reload took {ms}
rate limit hit by {client}: {int} requests
maxconn reached for {noun}
peers: {nodes} synchronized
reload requested by {few}
"""

BROKER = r"""
accepting AMQP connection {ipport} -> {ipport}
closing AMQP connection {ipport} -> {ipport}[[ (vhost: {noun}, user: {user})]]
connection {ipport}: user '{user}' authenticated and granted access to vhost '{noun}'
queue '{package}' in vhost '{noun}' declared with arguments {json}
mirrored queue {package}: promoting slave to master
memory resource limit alarm set on node {node}
memory high watermark set to {int} MiB ({big} bytes) of {int} MiB ({big} bytes) total
disk free limit set to {int}MB
missed heartbeats from client, timeout: {int}s
consumer {hex8} on channel {small} has timed out waiting for delivery acknowledgement. Timeout used: {int} ms
message store {name} recovered {int} messages
channel error: {int} not_found "no queue '{package}' in vhost '{noun}'"
operation {noun} caused a channel exception: {text}
rebuilding indices from scratch
node {node} up
node {node} down: {text}
replica list [{nodes}] of {package}
policy {noun} applied, ttl={null}, priority={small}
java.io.IOException: {text}
{frames}
"""

HARDWARE = r"""
Fan speeds ( {reading} {reading} {reading} {reading} {reading} {reading} )
Fan speeds ( {reading} {reading} {reading} **** {reading} {reading} )
Temperature ({int}C) exceeds warning threshold
ambient={int}
psu failure ambient={int}
ServerFileSystem: domain {name} is full
ServerFileSystem: domain {name} has panicked
boot (command {int})
boot (command {int}) Error: no kernel was found
wait (command {int})
Targeting nodes:node-[{int}-{int}] child of command {int}
network {int} of node {node} lost on interface eth{small}
network {int} of node {node} found on interface eth{small}
Link error on broadcast tree Interconnect-{int}:{small}:{small}:{small}
Link in reset
Link ok
not responding
{int} ddr error(s) detected and corrected on rank {small}, symbol {int}, bit {small}
{int} ddr error(s) detected and corrected on rank {small}, symbol {int} over {int} seconds
CE sym {int}, at {hex}, mask {hex}
lr:{hex8} cr:{hex8} xer:{hex8} ctr:{hex8}
byte ordering exception.....................{small}
auxiliary processor.........................{small}
fp unavailable interrupt....................{small}
wait state enable.................{small}
floating point instr. enabled.....{small}
rpm limits: low {dash} high {dash}
"""

VPN = r"""
{ip}:{port} TLS: initial packet from {ipport}[[, sid={hex8}]]
{ip}:{port} VERIFY OK: depth={small}[[, serial={big}]], CN={user}
{ip}:{port} peer info: version={version}
{ip}:{port} peer info: platform=linux
[{user}] Peer connection initiated with {ipport}[[ for user {user}]]
{user}/{ip}:{port} MULTI: learn {ip} -> {user}[[ port {port}]]
{user}/{ip}:{port} MULTI: bad source address from client {ip}, packet dropped
{user}/{ip}:{port} connection reset, restarting
{user}/{ip}:{port} inactivity timeout, restarting
tunnel to {host} established[[ after {ms}]]
tunnel to {host} closed[[ after {ms}]]
tunnel to {host} refused by policy
session {hex8} authenticated by password[[ for user {user}]]
session {hex8} authenticated by certificate[[ for user {user}]]
session {hex8} expired
session {hex8} renegotiated with cipher {name}[[ after {ms}]]
route {ip} via {ip} added[[ port {port}]]
route {ip} via {ip} removed[[ port {port}]]
route {ip} unreachable
address pool exhausted, {int} leases in use
address pool exhausted, client {ip} waits
write to {ip} failed: no buffer space
write to {ip} failed: message too long
reading configuration {path}
reading configuration {path} failed at line {int}
"""

RESOLVER = r"""
query {noun} from {ip}[[ port {port}]]
refused query from {ip}[[ port {port}]]
reply {host} is {ip}[[ ttl={int}]]
reply {host} truncated[[ ttl={int}]]
cached {host} is {ip}[[ ttl={int}]]
forwarded {host} to {ip}
lease {mac} {ip}[[ host {node}]]
lease released {mac} {ip}[[ host {node}]]
lease declined {mac} {ip}
zone {noun} transferred from {ip} in {secs}[[, {int} records]]
zone {noun} loaded in {secs}[[, {int} records]]
zone {noun} expired
zone {noun} is not loaded due to errors
server {ip} is slow[[, {int} queries wait]]
server {ip} is lame[[, {int} queries wait]]
server {ip} answers again
key {int} of zone {noun} rolled over
key {int} of zone {noun} retired, next check at {clock}
limit of {int} queries per second reached by {ip}
limit of {int} concurrent transfers reached
reloading after signal {small}
reloading finished
"""

CHOOSING = {
    "nginx": NGINX,
    "sshd": SSHD,
    "systemd": SYSTEMD,
    "cargo": CARGO,
    "service": SERVICE,
    "vpn": VPN,
    "resolver": RESOLVER,
}
SHOWING = {"postgres": POSTGRES, "pytest": PYTEST, "kernel": KERNEL, "proxy": PROXY, "device": DEVICE}
SEALED = {"postfix": POSTFIX, "cluster": CLUSTER, "balancer": BALANCER, "broker": BROKER, "hardware": HARDWARE}
ALL = {**CHOOSING, **SHOWING, **SEALED}

_VARIABLE = re.compile(r"\{([a-z0-9]+)\}")
_OPTIONAL = re.compile(r"\[\[(.*?)\]\](?!\])")
_FIELDS = re.compile(r"~~(.*?)~~")


def write_line(template: str, r: random.Random, values: dict[str, Rule] = VALUES) -> str:
    """Return a line of a template, with the values of its variables by rule."""
    text = _OPTIONAL.sub(lambda part: part[1] if r.random() < 0.5 else "", template)

    def shuffle(part: re.Match[str]) -> str:
        fields = part[1].split(" ")
        r.shuffle(fields)
        return " ".join(fields)

    text = _FIELDS.sub(shuffle, text)
    return _VARIABLE.sub(lambda name: values[name[1]](r), text)


def write_template(template: str) -> str:
    """Return the true template, with `<*>` for variables and optional parts."""
    text = _FIELDS.sub(lambda part: part[1], _OPTIONAL.sub("<*>", template))
    # An optional part hides the blanks on both of its sides.
    return _VARIABLE.sub("<*>", re.sub(r" ?<\*> ?(?=[a-z])", "<*>", text) if "[[" in template else text)


def records(name: str, source: str, count: int = 2000) -> list[dict[str, Any]]:
    """Return the records of a source: events are frequent or rare, as in a log."""
    r = random.Random(f"20261127 {name}")
    templates = source.strip("\n").replace("\n{frames}", "\r{frames}").split("\n")
    templates = [template.replace("\r", "\n") for template in templates]
    order = r.sample(range(len(templates)), len(templates))
    weights = [1 / (1 + order[number]) for number in range(len(templates))]
    picks = [*range(len(templates)), *r.choices(range(len(templates)), weights, k=count - len(templates))]
    r.shuffle(picks)
    return [
        {
            "id": f"{name}:{row}",
            "system": name,
            "event": f"{name}:{number}",
            "template": write_template(templates[number]),
            "text": write_line(templates[number], r),
        }
        for row, number in enumerate(picks)
    ]
