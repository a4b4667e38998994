import json, os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from webhook import is_genuine

seen = set()  # keep it in your database

class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if is_genuine(body, self.headers, os.environ["WEBHOOK_SECRET"]):
            event = json.loads(body)
            if event["id"] not in seen:
                print(event["type"], event.get("subject"), flush=True)  # note it, and do the work later
            seen.add(event["id"])
            self.send_response(204)  # within 10 s
        else:
            self.send_response(400)
        self.end_headers()

ThreadingHTTPServer(("127.0.0.1", 8080), Receiver).serve_forever()
