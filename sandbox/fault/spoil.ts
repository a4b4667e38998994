/** Turns a true response (or none) into the one that a fault rule describes. */
import { type Answer, codeOf, JSON_TYPE, type Reply, withNumericIds } from '../answer.ts';
import { CATALOGUE } from '../errors.ts';
import { isObject, mergePatch, writeJson } from '../json.ts';
import type { SeededRandom } from '../random.ts';
import { oddly } from './odd.ts';
import type { FaultAction } from './rules.ts';

const HTML_PAGE =
  '<!DOCTYPE html>\n<html><head><title>Error</title></head>\n<body><h1>Service error</h1><hr>proxy</body></html>\n';

/**
 * Applies the steps, of which later ones win: change the true response, replace it by a code, replace its bytes, set status and headers.
 */
export function spoil(
  answer: Answer,
  action: FaultAction,
  { forToken, random }: { readonly forToken: boolean; readonly random: SeededRandom },
): Reply {
  const bent = 'code' in action ? coded(action, forToken) : bend(answer, action, random);
  let { status } = bent;
  let headers = { ...bent.headers };
  let body: string | Buffer = writeJson(bent.body);
  let code = codeOf(bent.body);
  const asked = action.httpStatus ?? action.status;
  if (asked !== undefined && asked >= 300 && !('code' in action)) {
    body = writeJson({ status: asked, error: 'fault injected' });
    code = null;
  }
  if (action.html === true) {
    status = 500;
    headers = { 'content-type': 'text/html;charset=UTF-8' };
    body = HTML_PAGE;
    code = null;
  }
  if (action.raw !== undefined) {
    status = action.raw.status ?? 200;
    headers = { 'content-type': action.raw.contentType ?? JSON_TYPE, ...lowerCase(action.raw.headers) };
    body = bytesOf(action.raw);
    code = null;
  }
  if (action.pad !== undefined) body = padded(body, action.pad);
  return { status: asked ?? status, headers: { ...headers, ...lowerCase(action.headers) }, body, code };
}

/** Returns the bytes of a `text` or `base64` pair. */
export function bytesOf(given: { readonly text?: string; readonly base64?: string }): Buffer {
  return given.text === undefined
    ? Buffer.from(given.base64 ?? '', 'base64')
    : Buffer.from(given.text, 'utf8');
}

function bend(answer: Answer, action: FaultAction, random: SeededRandom): Answer {
  let { body } = answer;
  if (answer.success && action.numericIds === true) body = withNumericIds(body);
  if (action.codeAs !== undefined && isObject(body) && 'code' in body) {
    body = { ...body, code: codeIn(body['code'], action.codeAs) };
  }
  if (answer.success && action.patch !== undefined) body = mergePatch(body, action.patch);
  if (answer.success && action.odd !== undefined) body = oddly(body, action.odd, random);
  return { ...answer, body };
}

/** Returns a refusal that the rule makes up: the platform's envelope, or RFC 6749's at the token endpoint. */
function coded(action: FaultAction, forToken: boolean): Answer {
  const headers = { 'content-type': JSON_TYPE };
  const text = CATALOGUE[String(action.code) as keyof typeof CATALOGUE] ?? 'fault injected';
  const message = action.message ?? text;
  if (forToken) {
    const body = { error: action.code, error_description: message };
    return { status: action.code === 'invalid_client' ? 401 : 400, headers, body, success: false };
  }
  const body = {
    code: codeIn(action.code, action.codeAs ?? 'string'),
    message,
    cause: action.cause ?? message,
    ...('data' in action ? { data: action.data } : {}),
  };
  return { status: 299, headers, body, success: false };
}

/** Converts a code. Only digits and numbers change between the two forms; other values are sent as the rule has them. */
function codeIn(code: unknown, form: 'string' | 'integer'): unknown {
  if (form === 'string') return typeof code === 'number' ? String(code) : code;
  return typeof code === 'string' && /^\d+$/.test(code) ? Number(code) : code;
}

/** Pads a body. Spaces after JSON do not change its meaning, so a reader without a size limit accepts it. */
function padded(body: string | Buffer, size: number): Buffer {
  const bytes = Buffer.from(body);
  return bytes.length >= size ? bytes : Buffer.concat([bytes, Buffer.alloc(size - bytes.length, ' ')], size);
}

function lowerCase(headers: FaultAction['headers']): Record<string, string | readonly string[]> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
