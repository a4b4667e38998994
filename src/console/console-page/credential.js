/** The operator's credential: in the memory of this tab until it is closed, reloaded or told to forget. */
let kept;

/** The form of a JWT, which has three parts. Any other text is sent as a key. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;

const headersFor = (text) => (TOKEN.test(text) ? { authorization: `Bearer ${text}` } : { 'x-api-key': text });

/** The caller of the kept credential; undefined where there is none with this scope. */
export function caller(scope) {
  return kept?.scopes.includes(scope) ? kept.caller : undefined;
}

export function forget() {
  kept = undefined;
}

/** Keeps the credential if it has this scope. Returns what is wrong with it, or undefined. */
export async function use(text, scope) {
  const trimmed = text.trim().replace(/^(x-api-key:|authorization:\s*bearer|bearer)\s*/i, '');
  if (!/^[\x21-\x7e]+$/.test(trimmed))
    return 'An API key or a token has letters, digits and signs only, and no spaces.';
  const response = await fetch('/console/api/v1/callers/me', { headers: headersFor(trimmed) });
  const body = await response.json();
  if (response.status === 401) return 'The gateway does not know this credential.';
  if (!response.ok) return body.detail ?? body.title;
  if (!body.scopes.includes(scope))
    return `The caller ${body.name} may not do this: it lacks the scope ${scope}.`;
  kept = { text: trimmed, caller: body.name, scopes: body.scopes };
  return undefined;
}

/** Calls an operation of the API as the operator. */
export async function call(method, path, body) {
  const response = await fetch(`/console/api${path}`, {
    method,
    headers: { ...headersFor(kept.text), ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  if (response.status === 401) forget();
  const text = await response.text();
  return { ok: response.ok, body: text === '' ? {} : JSON.parse(text) };
}
