import { createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import type { EncryptionKey } from '../kit/sealed-store/sealed-store.ts';

/**
 * Returns the function that makes the fingerprints of a payload, so that payloads can be compared without being stored. It makes one HMAC-SHA-256
 * under every key, the current key first, so that a payload is recognised after a rotation of keys. A plain hash would let a reader of the store
 * guess the passwords in a body, so the keys are derived from the encryption keys. Without encryption keys the process uses a random key.
 */
export function fingerprinter(
  encryptionKeys: readonly EncryptionKey[],
): (payloadText: string) => readonly string[] {
  const derived = encryptionKeys.map(({ kid, key }) => {
    const bytes = hkdfSync('sha256', key.export(), '', 'gateway guard fingerprint', 32);
    return { kid, key: createSecretKey(Buffer.from(bytes)) };
  });
  const keys = derived.length > 0 ? derived : [{ kid: 'process', key: createSecretKey(randomBytes(32)) }];
  return (text) =>
    keys.map(({ kid, key }) => `${kid}:${createHmac('sha256', key).update(text).digest('base64url')}`);
}

/** Returns JSON with sorted members, and without the values that JSON cannot have. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const members = Object.entries(value as object).filter(([, member]) => member !== undefined);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}
