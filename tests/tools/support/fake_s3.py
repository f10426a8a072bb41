#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bucket in memory behind HTTP, with the bucket in the path, for tests of the command. It verifies no signature; prints
its URL. SIGUSR1: it is away, and answers 503; SIGUSR2: it is back. usage: fake_s3.py [ignores-conditions] [denies-delete]"""
import hashlib
import html
import http.server
import re
import signal
import sys
import threading
import urllib.parse

objects, uploads, lock = {}, {}, threading.Lock()
away = threading.Event()
signal.signal(signal.SIGUSR1, lambda *_: away.set())
signal.signal(signal.SIGUSR2, lambda *_: away.clear())
ignores_conditions, denies_delete = "ignores-conditions" in sys.argv, "denies-delete" in sys.argv


class Bucket(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def say(self, status, body=b"", headers=()):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code):
        self.say(status, f"<Error><Code>{code}</Code><RequestId>R1</RequestId></Error>")

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        bucket, _, key = urllib.parse.unquote(path[1:]).partition("/")
        if away.is_set():
            return self.refuse(503, "ServiceUnavailable")
        if "Authorization" not in self.headers:
            return self.refuse(403, "AccessDenied")
        if bucket != "bucket":
            return self.refuse(404, "NoSuchBucket")
        with lock:
            if not key:
                return self.delete_all(body) if "delete" in asked else self.list(asked)
            return getattr(self, self.command.lower())(key, asked, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

    def list(self, asked):
        prefix = asked.get("prefix", "")
        if "uploads" in asked:
            found = "".join(f"<Upload><Key>{k}</Key><UploadId>{i}</UploadId></Upload>"
                            for i, (k, _) in uploads.items() if k.startswith(prefix))
            return self.say(200, f"<ListMultipartUploadsResult><IsTruncated>false</IsTruncated>{found}</ListMultipartUploadsResult>")
        found = "".join(f"<Contents><Key>{k}</Key><ETag>{e}</ETag><Size>{len(b)}</Size></Contents>"
                        for k, (b, e, _) in sorted(objects.items()) if k.startswith(prefix))
        self.say(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>")

    def head(self, key, asked, body):
        self.get(key, asked, body)

    def get(self, key, asked, body):
        if key not in objects:
            return self.say(404) if self.command == "HEAD" else self.refuse(404, "NoSuchKey")
        data, etag, kept = objects[key]
        headers = [("ETag", etag), *kept]
        wanted = re.match(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if self.command == "HEAD":
            return self.say(200, b"", [*headers, ("Content-Length", str(len(data)))])
        if not wanted:
            return self.say(200, data, headers)
        first = int(wanted[1]) if wanted[1] else max(0, len(data) - int(wanted[2]))
        last = min(int(wanted[2]) if wanted[1] and wanted[2] else len(data) - 1, len(data) - 1)
        self.say(206, data[first:last + 1], [*headers, ("Content-Range", f"bytes {first}-{last}/{len(data)}")])

    def kept(self):
        return [(name, value) for name, value in self.headers.items() if name.lower().startswith("x-amz-meta-")]

    def put(self, key, asked, body):
        if "uploadId" in asked:
            if asked["uploadId"] not in uploads:
                return self.refuse(404, "NoSuchUpload")
            uploads[asked["uploadId"]][1][int(asked["partNumber"])] = body
            return self.say(200, b"", [("ETag", f'"{hashlib.md5(body).hexdigest()}"')])
        source = self.headers.get("x-amz-copy-source")
        if source:
            objects[key] = objects[urllib.parse.unquote(source).split("/", 2)[2]]
            return self.say(200, f"<CopyObjectResult><ETag>{objects[key][1]}</ETag></CopyObjectResult>")
        there = objects.get(key)
        if not ignores_conditions:
            if self.headers.get("If-None-Match") == "*" and there:
                return self.refuse(412, "PreconditionFailed")
            if "If-Match" in self.headers and (not there or there[1] != self.headers["If-Match"]):
                return self.refuse(412, "PreconditionFailed")
        etag = f'"{hashlib.md5(body).hexdigest()}"'
        objects[key] = (body, etag, self.kept())
        self.say(200, b"", [("ETag", etag)])

    def post(self, key, asked, body):
        if "uploads" in asked:
            name = f"u{len(uploads)}"
            uploads[name] = (key, {})
            return self.say(200, f"<InitiateMultipartUploadResult><UploadId>{name}</UploadId></InitiateMultipartUploadResult>")
        _, parts = uploads.pop(asked["uploadId"])
        data = b"".join(parts[number] for number in sorted(parts))
        objects[key] = (data, f'"{hashlib.md5(data).hexdigest()}-{len(parts)}"', [])
        self.say(200, f"<CompleteMultipartUploadResult><ETag>{objects[key][1]}</ETag></CompleteMultipartUploadResult>")

    def delete(self, key, asked, body):
        if denies_delete and "uploadId" not in asked:
            return self.refuse(403, "AccessDenied")
        if "uploadId" in asked:
            uploads.pop(asked["uploadId"], None)
        else:
            objects.pop(key, None)
        self.say(204)

    def delete_all(self, body):
        keys = [html.unescape(key) for key in re.findall(r"<Key>(.*?)</Key>", body.decode())]
        if denies_delete:
            return self.say(200, f"<DeleteResult><Error><Key>{html.escape(keys[0])}</Key><Code>AccessDenied</Code></Error></DeleteResult>")
        for key in keys:
            objects.pop(key, None)
        self.say(200, "<DeleteResult></DeleteResult>")

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
server.daemon_threads = True
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
