"""A small HTTP service on loopback: a table of paths, each with a fixed answer or a function of the query."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, Any] | tuple[int, Any, Mapping[str, str]]
"""Status, body (text, or a value for JSON), and headers."""
Routes = Mapping[str, Answer | Callable[[dict[str, str]], Answer]]


@contextmanager
def stub_service(routes: Routes) -> Iterator[str]:
    """The URL of the service; any other path is answered 404."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            route = routes.get(parts.path, (404, {"error": "not found"}))
            answer = route(dict(parse_qsl(parts.query))) if callable(route) else route
            content = answer[1] if isinstance(answer[1], str) else json.dumps(answer[1])
            self.send_response(answer[0])
            headers = {"Content-Type": "application/json", **(answer[2] if len(answer) > 2 else {})}
            for name, value in {**headers, "Content-Length": str(len(content.encode()))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content.encode())

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.do_GET()

        def do_PATCH(self) -> None:
            self.do_POST()

        def do_DELETE(self) -> None:
            self.do_POST()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
