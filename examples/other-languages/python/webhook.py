import base64, hashlib, hmac, re, time

def is_genuine(body, headers, secret):
    sent, signatures = headers.get("webhook-timestamp") or "", headers.get("webhook-signature") or ""
    if not re.fullmatch("[0-9]{1,12}", sent) or abs(time.time() - int(sent)) > 300:
        return False
    signed = f"{headers.get('webhook-id')}.{sent}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    if not key:
        return False
    wanted = b"v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    return any(hmac.compare_digest(wanted, each.encode()) for each in signatures.split())
