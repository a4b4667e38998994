/** Verifies requests for receivers of webhooks, and reads their event (Standard Webhooks). */
import type { Event, TestEvent } from './api.ts';

/** The tolerance of a request's time. A request is accepted if it was sent within it, before or after now. */
const TOLERANCE_S = 5 * 60;
const PREFIX = 'whsec_';

type Headers = Readonly<Record<string, string | readonly string[] | undefined>> | globalThis.Headers;

/** The request does not come from the gateway, or is too old. Answer it with 400, and do nothing else with it. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
}

/**
 * Returns the event of a request, if it was signed with this secret within 5 minutes. `rawBody` is the body as it arrived, before any code
 * has parsed it. The gateway sends an event at least once, so keep its `id` to recognise repeats. Rejects with {@link WebhookRefused}.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: Headers,
  secret: string,
): Promise<Event | TestEvent> {
  const body = typeof rawBody === 'string' ? new TextEncoder().encode(rawBody) : rawBody;
  if (!ArrayBuffer.isView(body))
    throw new TypeError(
      'rawBody has to be the body as it arrived, a text or bytes, before any code parsed it',
    );
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    headerOf(headers, `webhook-${name}`),
  );
  if (id === undefined || timestamp === undefined || signatures === undefined)
    throw new WebhookRefused(
      'The request has no signature: webhook-id, webhook-timestamp or webhook-signature is missing',
    );
  const age = Date.now() / 1_000 - Number(timestamp);
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(age) > TOLERANCE_S)
    throw new WebhookRefused('The request was not sent within the last 5 minutes, or a clock is wrong');
  const key = await keyOf(secret, 'verify');
  const signed = signedBytes(id, timestamp, body);
  for (const signature of signatures.split(' ')) {
    const bytes = signature.startsWith('v1,') ? fromBase64(signature.slice(3)) : undefined;
    if (bytes && (await crypto.subtle.verify('HMAC', key, bytes, signed)))
      return JSON.parse(new TextDecoder().decode(body)) as Event | TestEvent;
  }
  throw new WebhookRefused('No signature of the request is of this secret');
}

/** Makes the headers of a delivery, for tests of a receiver and for `licensing webhooks listen`. */
export async function signWebhook(
  id: string,
  body: string,
  secret: string,
  at = new Date(),
): Promise<Readonly<Record<string, string>>> {
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signed = signedBytes(id, timestamp, new TextEncoder().encode(body));
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', await keyOf(secret, 'sign'), signed));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${btoa(String.fromCharCode(...bytes))}`,
  };
}

function signedBytes(id: string, timestamp: string, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = new TextEncoder().encode(`${id}.${timestamp}.`);
  const all = new Uint8Array(head.length + body.length);
  all.set(head);
  all.set(body, head.length);
  return all;
}

async function keyOf(secret: string, use: 'sign' | 'verify'): Promise<CryptoKey> {
  const bytes = secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : undefined;
  if (!bytes || bytes.length === 0) throw new TypeError(`the secret of a webhook is ${PREFIX} and base64`);
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [use]);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function headerOf(headers: Headers, name: string): string | undefined {
  if (headers instanceof globalThis.Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : found?.join(' ');
}
