import json, os, urllib.error, urllib.parse, urllib.request

class Problem(Exception):
    def __init__(self, fields):
        super().__init__(fields.get("detail") or fields["title"])
        self.fields = fields

class NoRedirects(urllib.request.HTTPRedirectHandler):
    redirect_request = lambda *_: None

opener = urllib.request.build_opener(NoRedirects)

def call(method, path, body=None):
    base = os.environ["LICENSING_URL"].rstrip("/") + "/"
    request = urllib.request.Request(urllib.parse.urljoin(base, path), method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-Api-Key": os.environ["LICENSING_API_KEY"], "Content-Type": "application/json"})
    try:
        with opener.open(request, timeout=60) as answer:
            return json.loads(answer.read() or "null"), answer.headers
    except urllib.error.HTTPError as error:
        if error.headers.get_content_type() != "application/problem+json":
            raise  # a proxy answers: the outcome is unknown
        raise Problem(json.load(error)) from None
