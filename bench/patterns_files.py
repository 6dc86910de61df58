"""Variants of files: how many are found by fuzzy digests alone, by features of text alone, and by both.

1. *Scripts*: small scripts of several languages, written for this benchmark, which look like what administrators, or
   intruders, leave on a web server, and do nothing. Each is changed by the rules below; all variants of one are a
   family. Half of the scripts chose the threshold of features, the other half is shown beside it.
2. *Releases*: Python, JavaScript and compiled files over many releases (`files_variants`); a family is one file over
   its releases, of which distant ones need not be alike.

Recall is the share of pairs of one family that are in one cluster, precision the share of pairs of one cluster that are
of one family. Exact copies are in the files of releases, and count.

Rules (`varied`): variables renamed, the password changed, comments added, white space changed, junk appended, all of it
in base64 within `eval`; one to three of them at once.
"""

from __future__ import annotations

import base64
import collections
import io
import random
import re
import string
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import common
import nearkin as nk

SEED = 20261123
EACH = 24
"""Variants of a script."""

# Harmless scripts; PASSWORD is what a rule changes, names with a leading v_ are variables that a rule renames.
SCRIPTS = {
    "status.php": """<?php
$v_pass = 'PASSWORD';
$v_given = isset($_POST['key']) ? $_POST['key'] : '';
if ($v_given !== $v_pass) { header('HTTP/1.0 404 Not Found'); exit; }
echo '<pre>';
foreach (array('uptime', 'load', 'disk') as $v_item) {
    $v_value = $v_item == 'disk' ? disk_free_space('/') : time();
    printf("%s: %s\\n", htmlspecialchars($v_item), $v_value);
}
echo '</pre>';
?>
""",
    "upload.php": """<?php
session_start();
$v_user = 'admin'; $v_hash = 'PASSWORD';
if (empty($_SESSION['ok'])) {
    if (isset($_POST['p']) && md5($_POST['p']) === $v_hash) { $_SESSION['ok'] = 1; }
    else { echo '<form method="post"><input type="password" name="p"><input type="submit"></form>'; exit; }
}
$v_target = dirname(__FILE__) . '/files/';
if (!empty($_FILES['f']['name'])) {
    $v_name = $v_target . basename($_FILES['f']['name']);
    echo move_uploaded_file($_FILES['f']['tmp_name'], $v_name) ? 'stored' : 'failed';
}
echo '<form method="post" enctype="multipart/form-data"><input type="file" name="f"><input type="submit"></form>';
""",
    "list.php": """<?php
$v_dir = isset($_GET['d']) ? $_GET['d'] : getcwd();
$v_key = 'PASSWORD';
if ($_COOKIE['k'] != $v_key) die();
$v_entries = scandir($v_dir);
echo "<table border=1><tr><th>name</th><th>size</th><th>changed</th></tr>";
foreach ($v_entries as $v_entry) {
    $v_path = $v_dir . '/' . $v_entry;
    $v_size = is_dir($v_path) ? 'dir' : filesize($v_path);
    echo "<tr><td><a href='?d=" . urlencode($v_path) . "'>$v_entry</a></td><td>$v_size</td>";
    echo "<td>" . date('Y-m-d', filemtime($v_path)) . "</td></tr>";
}
echo "</table>";
""",
    "query.php": """<?php
$v_conn = mysqli_connect('localhost', 'root', 'PASSWORD', 'shop');
$v_sql = $_REQUEST['q'];
if ($v_sql) {
    $v_result = mysqli_query($v_conn, $v_sql) or die(mysqli_error($v_conn));
    while ($v_row = mysqli_fetch_assoc($v_result)) {
        echo '<div>' . implode(' | ', array_map('htmlspecialchars', $v_row)) . '</div>';
    }
}
?>
<form><textarea name="q"></textarea><input type="submit" value="run"></form>
""",
    "editor.php": """<?php
define('KEY', 'PASSWORD');
if (!isset($_GET['k']) || $_GET['k'] != KEY) { exit('no'); }
$v_file = $_GET['file'];
if ($_SERVER['REQUEST_METHOD'] == 'POST') {
    $v_text = stripslashes($_POST['text']);
    $v_handle = fopen($v_file, 'w');
    fwrite($v_handle, $v_text);
    fclose($v_handle);
    echo 'saved ' . strlen($v_text) . ' bytes';
}
$v_text = file_exists($v_file) ? file_get_contents($v_file) : '';
echo '<form method="post"><textarea name="text" rows=30 cols=90>' . htmlspecialchars($v_text) . '</textarea>';
echo '<input type="submit" value="save"></form>';
""",
    "mailer.php": """<?php
$v_secret = 'PASSWORD';
if ($_POST['secret'] == $v_secret) {
    $v_list = explode("\\n", trim($_POST['to']));
    $v_sent = 0;
    foreach ($v_list as $v_one) {
        $v_headers = "From: " . $_POST['from'] . "\\r\\nContent-Type: text/plain";
        if (strpos($v_one, '@') !== false) { $v_sent++; }
        usleep(100000);
    }
    echo "queued $v_sent of " . count($v_list);
}
""",
    "env.jsp": """<%@ page import="java.util.*,java.io.*" %>
<%
String v_key = request.getParameter("key");
if (v_key == null || !v_key.equals("PASSWORD")) { response.sendError(404); return; }
Properties v_props = System.getProperties();
Enumeration v_names = v_props.propertyNames();
out.println("<table>");
while (v_names.hasMoreElements()) {
    String v_name = (String) v_names.nextElement();
    out.println("<tr><td>" + v_name + "</td><td>" + v_props.getProperty(v_name) + "</td></tr>");
}
out.println("</table>");
%>
""",
    "files.jsp": """<%@ page language="java" import="java.io.File,java.text.SimpleDateFormat" %>
<%
if (!"PASSWORD".equals(request.getHeader("x-key"))) { return; }
String v_path = request.getParameter("path");
File v_root = new File(v_path == null ? "." : v_path);
File[] v_all = v_root.listFiles();
SimpleDateFormat v_format = new SimpleDateFormat("yyyy-MM-dd HH:mm");
for (int v_i = 0; v_i < v_all.length; v_i++) {
    String v_line = v_all[v_i].getName() + " " + v_all[v_i].length() + " " + v_format.format(v_all[v_i].lastModified());
    out.print(v_line + "<br>");
}
%>
""",
    "info.asp": """<%
Dim v_pass, v_fso, v_drive
v_pass = "PASSWORD"
If Request.Form("p") <> v_pass Then
  Response.Write "<form method=post><input name=p type=password></form>"
  Response.End
End If
Set v_fso = Server.CreateObject("Scripting.FileSystemObject")
For Each v_drive In v_fso.Drives
  Response.Write v_drive.DriveLetter & " " & v_drive.DriveType & "<br>"
Next
Set v_fso = Nothing
%>
""",
    "report.py": """import os, sys, html
from urllib.parse import parse_qs

v_key = "PASSWORD"
v_query = parse_qs(os.environ.get("QUERY_STRING", ""))
print("Content-Type: text/html\\n")
if v_query.get("key", [""])[0] != v_key:
    print("<h1>404</h1>")
    sys.exit(0)
v_total = 0
for v_root, v_dirs, v_files in os.walk("."):
    for v_file in v_files:
        v_size = os.path.getsize(os.path.join(v_root, v_file))
        v_total = v_total + v_size
        print("<p>%s %d</p>" % (html.escape(v_file), v_size))
print("<b>%d</b>" % v_total)
""",
    "env.pl": """#!/usr/bin/perl
use strict; use CGI;
my $v_cgi = CGI->new;
my $v_key = 'PASSWORD';
print $v_cgi->header('text/plain');
if ($v_cgi->param('key') ne $v_key) { print "not found"; exit; }
foreach my $v_name (sort keys %ENV) {
    my $v_value = $ENV{$v_name};
    $v_value =~ s/[^ -~]/?/g;
    print "$v_name = $v_value\\n";
}
my $v_now = localtime(time);
print "time $v_now\\n";
""",
    "clean.sh": """#!/bin/sh
v_token="PASSWORD"
v_given="$1"
if [ "$v_given" != "$v_token" ]; then echo "usage: clean TOKEN"; exit 1; fi
v_count=0
for v_file in /tmp/cache-*.tmp; do
  if [ -f "$v_file" ]; then
    v_size=$(wc -c < "$v_file")
    echo "would remove $v_file of $v_size bytes"
    v_count=$((v_count + 1))
  fi
done
echo "$v_count files"
""",
}


def _word(draw: random.Random, least: int = 2, most: int = 10) -> str:
    return "".join(draw.choices(string.ascii_lowercase, k=draw.randint(least, most)))


def _renamed(text: str, draw: random.Random) -> str:
    for name in sorted(set(re.findall(r"v_\w+", text)), reverse=True):
        text = re.sub(rf"\b{name}\b", f"{_word(draw, 1)}{draw.randint(0, 99)}", text)
    return text


def _password(text: str, draw: random.Random) -> str:
    return text.replace("PASSWORD", draw.choice([_word(draw, 5, 14), f"{draw.getrandbits(128):032x}"]))


def _commented(text: str, draw: random.Random) -> str:
    mark = "# " if text.startswith(("#!", "import")) else "// "
    lines = []
    for line in text.splitlines():
        lines.append(line)
        if draw.random() < 0.4 and line.endswith((";", "{", "}")):
            lines.append(mark + " ".join(_word(draw) for _ in range(draw.randint(2, 9))))
    return "\n".join(lines) + "\n"


def _spaced(text: str, draw: random.Random) -> str:
    indent = draw.choice(["", "\t", "  ", "      "])
    text = re.sub(r"(?m)^(?:    |  )", indent, text)
    return text.replace("\n", draw.choice(["\r\n", "\n\n", "\n"]))


def _junk(text: str, draw: random.Random) -> str:
    words = " ".join(_word(draw) for _ in range(draw.randint(5, 25)))
    return text + draw.choice([f"<!-- {words} -->\n", f"\n{words}\n", "\n" * 60])


def _wrapped(text: str, draw: random.Random) -> str:
    inner = base64.b64encode(text.encode()).decode()
    return (
        f"<?php eval(base64_decode('{inner}')); ?>\n" if text.startswith("<?php") else f"exec(b64decode('{inner}'))\n"
    )


RULES: dict[str, Callable[[str, random.Random], str]] = {
    "renamed": _renamed,
    "comments": _commented,
    "white space": _spaced,
    "junk": _junk,
    "base64": _wrapped,
}


def varied(text: str, rules: Iterable[str], draw: random.Random) -> str:
    """A script by these rules, in their order, and with another password."""
    text = _password(text, draw)
    for name in RULES:
        if name in rules:
            text = RULES[name](text, draw)
    return text


def scripts(each: int = EACH, seed: int = SEED) -> dict[str, list[tuple[str, str]]]:
    """Variants of each script: by which rules, and their texts."""
    draw = random.Random(seed)
    found: dict[str, list[tuple[str, str]]] = {}
    for name, text in SCRIPTS.items():
        variants = [("none", _password(text, draw))]
        for number in range(each):
            # Each rule alone in turn, then several.
            some = (
                [list(RULES)[number % len(RULES)]]
                if number < 2 * len(RULES)
                else draw.sample(list(RULES), 2 + number % 2)
            )
            variants.append((" + ".join(sorted(some)), varied(text, some, draw)))
        found[name] = variants
    return found


def _pairs(counts: Iterable[int]) -> int:
    return sum(count * (count - 1) // 2 for count in counts)


def measured(families: dict[str, str], clusters: dict[str, int]) -> dict[str, float]:
    """Recall and precision of pairs; files without a cluster are alone."""
    by_family = collections.Counter(families.values())
    both = collections.Counter((families[path], cluster) for path, cluster in clusters.items())
    by_cluster = collections.Counter(clusters.values())
    right = _pairs(both.values())
    return {
        "files": len(families),
        "families": len(by_family),
        "clusters": len(by_cluster) + len(families) - len(clusters),
        "recall": right / _pairs(by_family.values()),
        "precision": right / max(_pairs(by_cluster.values()), 1),
    }


def _clusters(paths: list[str], **options: Any) -> dict[str, int]:
    rows = nk.dedup_files(paths, **options).clusters.rows()
    return {row["id"]: row["cluster"] for row in rows}


WAYS: dict[str, dict[str, Any]] = {
    "ssdeep 80": {},
    "ssdeep 50": {"threshold": 50},
    "ssdeep 80, text": {"also": "text"},
    "ssdeep 50, text": {"threshold": 50, "also": "text"},
}


def _on_scripts(folder: Path, ways: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """All scripts, both halves, and recall by rule: the share of variants that share the cluster of the first one."""
    families, rules = {}, {}
    for name, variants in scripts().items():
        for number, (rule, text) in enumerate(variants):
            path = folder / f"{number:03d}-{name}"
            path.write_text(text, newline="")
            families[str(path)], rules[str(path)] = name, rule
    rank = {name: place for place, name in enumerate(SCRIPTS)}
    found: dict[str, Any] = {}
    for way, options in ways.items():
        clusters = _clusters(sorted(families), **options)
        found[way] = {"all": measured(families, clusters)}
        for half, name in ((0, "chosen on"), (1, "shown on")):
            own = {path: family for path, family in families.items() if rank[family] % 2 == half}
            found[way][name] = measured(own, {path: clusters[path] for path in own if path in clusters})
        first = {family: clusters.get(path, -1) for path, family in families.items() if rules[path] == "none"}
        with_first = collections.defaultdict(list)
        for path, family in families.items():
            if rules[path] in RULES:
                with_first[rules[path]].append(clusters.get(path, -2) == first[family])
        found[way]["by rule"] = {rule: sum(hits) / len(hits) for rule, hits in with_first.items()}
    return found


def _on_releases(folder: Path, data: Path, ways: dict[str, dict[str, Any]]) -> dict[str, Any]:
    import csv
    import gzip

    with tarfile.open(data / "files_variants.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    with gzip.open(data / "files_variants.tsv.gz", "rt", encoding="utf-8") as lines:
        rows = list(csv.DictReader(io.StringIO(lines.read()), delimiter="\t"))
    places = {path.relative_to(folder).as_posix(): str(path) for path in folder.rglob("*") if path.is_file()}
    families = {}
    for row in rows:
        (place,) = [full for short, full in places.items() if short.endswith(row["path"])]
        families[place] = row["family"]
    return {way: measured(families, _clusters(sorted(families), **options)) for way, options in ways.items()}


def main() -> None:
    """Measures, and leaves a file in bench/runs."""
    given = common.arguments(__doc__, ("--thresholds", {"action": "store_true", "help": "all thresholds of text"}))
    ways = dict(WAYS)
    if given.thresholds:
        for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            ways[f"ssdeep 80, text {threshold}"] = {"also": "text", "text_threshold": threshold}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "scripts").mkdir()
        (folder / "releases").mkdir()
        found = {
            "scripts": _on_scripts(folder / "scripts", ways),
            "releases": _on_releases(folder / "releases", given.data, ways),
        }
    path = common.save("patterns-files", found, versions=common.versions())
    print(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
