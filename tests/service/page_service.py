"""An in-memory service of a few documents, with the routes that the page calls.

It compares the words of texts, so that tests can predict every result. It accepts documents that a store would refuse:
ids, texts and columns that try to inject markup. `Service.seen` has every request.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nearkin.web_assets import assets

PAGE = Path(__file__).resolve().parents[2] / "python" / "nearkin" / "service" / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript"}
CHANGES = {"/v1/add", "/v1/check-and-add", "/v1/remove"}

Document = dict[str, Any]


class Refusal(Exception):  # noqa: N818
    """A problem response."""

    def __init__(self, status: int, slug: str, title: str, detail: str, **context: Any) -> None:
        super().__init__(title)
        self.status = status
        kind = f"urn:nearkin:problem:{slug}"
        self.fields = {"type": kind, "title": title, "status": status, "detail": detail, "instance": "r1", **context}


def words_of(document: Document) -> set[str]:
    """Return the words of a text; a digest, bytes or a vector is one word."""
    for name in ("digest", "bytes", "vector"):
        if name in document:
            return {json.dumps(document[name])}
    return set(document["text"].lower().split())


@dataclass
class Service:
    """Stored documents, access rules and received requests."""

    kind: str = "texts"
    id_kind: str = "str"
    readonly: bool = False
    reason: str | None = None
    tokens: dict[str, str] = field(default_factory=dict)
    documents: dict[Any, Document] = field(default_factory=dict)
    body_limit: int = 1 << 20
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    refusal: Refusal | None = None
    answered: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("new", "exact", "near", "known"), 0))
    url: str = ""

    def put(self, id: Any, text: str | None, columns: dict[str, Any] | None = None, status: str = "new") -> None:
        """Store a document as it is."""
        self.documents[id] = {"id": id, "text": text, "columns": columns or {}, "status": status}

    def allow(self, path: str, header: str) -> None:
        """Refuse a request without the right that its route needs."""
        right = self.tokens.get(header.removeprefix("Bearer "))
        if self.tokens and right is None:
            raise Refusal(401, "no-token", "No token", "This route needs a token.")
        if self.tokens and path in CHANGES and right != "write":
            raise Refusal(403, "not-allowed", "Not allowed", "A read token cannot change the store.")
        if self.readonly and path in CHANGES:
            raise Refusal(403, "read-only", "Read-only", "The service was started with --readonly.")

    def matches(self, document: Document) -> list[dict[str, Any]]:
        """Return kept documents that share half of the words, nearest first."""
        mine = words_of(document)
        matches = []
        for other in self.documents.values():
            if other["text"] is None:
                continue
            theirs = set(other["text"].lower().split())
            similarity = len(mine & theirs) / max(1, len(mine | theirs))
            if similarity >= 0.5:
                match = {"id": other["id"], "distance": round(128 * (1 - similarity) / 2), "similarity": similarity}
                matches.append({**match, "columns": other["columns"]})
        return sorted(matches, key=lambda match: -match["similarity"])

    def decide(self, document: Document) -> dict[str, Any]:
        """Return the result of one document."""
        matches = self.matches(document)
        first = self.documents.get(document.get("id"))
        if first is not None:
            if first["text"] != document.get("text"):
                raise Refusal(409, "other-content", "Other content", "This id has another text.", id=document["id"])
            return {"id": document["id"], "status": "known", "match": None, "distance": -1, "similarity": None}
        if not matches:
            return {"status": "new", "match": None, "distance": -1, "similarity": None}
        best = matches[0]
        status = "exact" if best["similarity"] == 1 else "near"
        return {"status": status, "match": best["id"], "distance": best["distance"], "similarity": best["similarity"]}

    def answer(self, path: str, query: dict[str, list[str]], body: Any) -> Any:
        """Return the response to a POST."""
        if path == "/v1/documents":
            documents = [self.documents.get(id) for id in body["ids"]]
            return {"documents": [None if document is None else self.whole(document) for document in documents]}
        if path == "/v1/remove":
            return {"removed": 0 if self.documents.pop(body["id"], None) is None else 1}
        answer = self.decide(body)
        self.answered[answer["status"]] += 1
        if path == "/v1/check":
            return {**answer, "matches": self.matches(body)[: int(query["k"][0])]}
        answer.setdefault("id", body.get("id", len(self.documents)))
        if answer["status"] != "known":
            text = body.get("text") if answer["status"] == "new" or path == "/v1/add" else None
            self.put(answer["id"], text, body.get("columns"), answer["status"])
        return answer

    def whole(self, document: Document) -> Document:
        """Return a stored document with all members."""
        about = {"row": 0, "match": None, "distance": -1, "similarity": None, "features": 9, "length": 44}
        return {**about, **document}

    def info(self) -> dict[str, Any]:
        """Return the state of the store."""
        size = {"log": 4096, "documents": 1_200_000, "index": 80_000, "total": 1_284_096}
        return {
            "documents": len(self.documents),
            "waiting": 3,
            "segments": 2,
            "removed": 1,
            "bytes": size,
            "kind": self.kind,
            "id_kind": self.id_kind,
            "version": "0.9",
            "readonly": self.readonly,
            "settings": {"recipe": "word:1|binary|xxh3|simhash:128", "threshold": 0.7, "differ": []},
            "reason_readonly": self.reason,
            "limits": {"body": self.body_limit, "batch": 10000, "line": self.body_limit, "k": 1000},
        }

    def metrics(self) -> str:
        """Return metrics that grow with every request."""
        count = len(self.seen)
        lines = [f'nearkin_answers_total{{status="{name}"}} {n}' for name, n in self.answered.items()]
        for bound, share in (("0.001", 0.5), ("0.01", 0.9), ("+Inf", 1.0)):
            labels = f'route="/v1/check",le="{bound}"'
            lines.append(f"nearkin_request_seconds_bucket{{{labels}}} {int(count * share)}")
        lines.append(f'nearkin_requests_total{{route="/v1/check",status="200"}} {count}')
        lines += [f'nearkin_bytes{{part="{part}"}} 1000000' for part in ("log", "documents", "index")]
        lines += [f"nearkin_documents {len(self.documents)}", "nearkin_waiting 3", "nearkin_segments 2"]
        lines += ["nearkin_removed 1", "nearkin_queue_bytes 0", "nearkin_queue_documents 0"]
        lines += ["nearkin_commit_seconds_sum 1.5", "nearkin_commit_seconds_count 1000"]
        return "# HELP nearkin_documents Documents.\n# TYPE nearkin_documents gauge\n" + "\n".join(lines) + "\n"

    def sent(self, path: str) -> list[Any]:
        """Return the bodies that were sent to a route."""
        return [json.loads(body) for _, at, _, body in self.seen if at.partition("?")[0] == path]


class Handler(BaseHTTPRequestHandler):
    """Handler of the requests of a page."""

    service: Service
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""

    def give(self, status: int, kind: str, content: bytes) -> None:
        """Send a response."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def handle_one(self, body: bytes) -> None:
        """Handle a request."""
        service, target = self.service, urlsplit(self.path)
        path = "/page/index.html" if target.path == "/" else target.path
        service.seen.append((self.command, self.path, dict(self.headers), body))
        files = {each.name: each for each in PAGE.iterdir()} | assets()
        file = files.get(path.removeprefix("/page/"))
        if path.startswith("/page/") and file is not None:
            self.give(200, TYPES[file.suffix], file.read_bytes())
            return
        try:
            service.allow(path, self.headers.get("Authorization", ""))
            if path == "/metrics":
                self.give(200, "text/plain; version=0.0.4", service.metrics().encode())
                return
            if service.refusal is not None and path.startswith("/v1/") and path != "/v1/info":
                raise service.refusal
            if path == "/v1/info":
                answer = service.info()
            elif self.command == "POST":
                answer = service.answer(path, parse_qs(target.query), json.loads(body))
            else:
                raise Refusal(404, "no-such-route", "No such route", f"There is nothing at {path}.")
            self.give(200, "application/json", json.dumps(answer).encode())
        except Refusal as refusal:
            self.give(refusal.status, "application/problem+json", json.dumps(refusal.fields).encode())

    def do_GET(self) -> None:
        """Return a file, the state, or the metrics."""
        self.handle_one(b"")

    def do_POST(self) -> None:
        """Handle a query or a change."""
        self.handle_one(self.rfile.read(int(self.headers["Content-Length"])))


@contextmanager
def serving(service: Service) -> Iterator[Service]:
    """Serve on a free port of loopback; the address is in `url`."""
    handler = type("Bound", (Handler,), {"service": service})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        service.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()
