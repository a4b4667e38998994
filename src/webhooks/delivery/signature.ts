import { createHmac, randomBytes } from 'node:crypto';
import type { FormerSecret, Webhook } from '../store/webhook-record.ts';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** Makes a secret in the form of Standard Webhooks: `whsec_` and base64. */
export function newWebhookSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Returns the current secret, then the former ones that a receiver may still use. */
export function signingSecretsOf(webhook: Webhook, now: number): readonly string[] {
  return [webhook.secret, ...formerOf(webhook, now).map(({ secret }) => secret)];
}

/** Returns the former secrets that are still valid, the newest first. */
export function formerOf({ former, earlier = [] }: Webhook, now: number): readonly FormerSecret[] {
  return (former ? [former, ...earlier] : earlier).filter(({ until }) => until > now);
}

/**
 * Returns the headers of a delivery (Standard Webhooks): HMAC-SHA256 of id, time and body under each secret. A receiver accepts the
 * delivery if one signature matches its secret. `at` is in ms since the epoch.
 */
export function signedHeaders(
  id: string,
  at: number,
  body: string,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signatures.join(' '),
  };
}
