"""A model hub on this machine for tests: HTTPS on a free port of localhost.

usage: hub_server.py CERTIFICATE KEY CONTENT LOG

Prints its port. Serves CONTENT under every name, as the hub does: /OWNER/REPO/resolve/REV/FILE answers with
a redirection (which states the sha256) to a storage path that knows ranges. OWNER says what goes wrong.
LOG gets a line for each request: path and Range.
"""

import hashlib
import http.server
import re
import ssl
import sys

CERTIFICATE, KEY, CONTENT, LOG = sys.argv[1:]
seen = set()


def first_time(what):
    new = what not in seen
    seen.add(what)
    return new


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in {"Content-Length": len(body), "Connection": "close", **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass
        self.close_connection = True

    def do_GET(self):
        with open(LOG, "a") as log:
            log.write(f"{self.path} {self.headers.get('Range', '-')}\n")
        with open(CONTENT, "rb") as file:
            content = file.read()
        owner = self.path.split("/")[1]
        if owner == "storage":
            return self.storage(self.path.split("/")[2], content)
        if owner == "missing":
            return self.reply(404, {}, b"no such file")
        if owner == "busy" and first_time("busy"):
            return self.reply(503, {}, b"come back later")
        sha256 = hashlib.sha256(content).hexdigest()
        if owner == "liar":
            sha256 = "0" * 64
        place = f"/storage/{owner}"
        if owner == "downgrade":
            place = f"http://localhost:{self.server.server_port}/storage/{owner}"
        self.reply(302, {"Location": place, "ETag": '"hub"', "X-Linked-Etag": f'"{sha256}"'}, b"over there")

    def storage(self, owner, content):
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        headers = {"ETag": etag}
        body, status = content, 200
        if wanted and owner != "rangeless" and self.headers.get("If-Range", etag) == etag:
            begin = int(wanted[1])
            if begin >= len(content):
                return self.reply(416, {"Content-Range": f"bytes */{len(content)}"})
            body, status = content[begin:], 206
            headers["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        headers["Content-Length"] = len(body)
        if owner == "big":
            headers["Content-Length"] = 1 << 40
        if owner == "cut" and len(body) > len(content) // 3:
            body = body[: len(content) // 3]
        self.reply(status, headers, body)


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass  # a client that goes away, or does not like the certificate, is part of the tests


server = Server(("localhost", 0), Hub)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(CERTIFICATE, KEY)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print(server.server_port, flush=True)
server.serve_forever()
