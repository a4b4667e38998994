import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import type { EncryptionKey } from '../kit/sealed-store/sealer.ts';

/**
 * Compares payloads without storing them: HMAC-SHA-256 over canonical JSON. A plain hash would let a reader of the store guess the
 * passwords in a body, so the keys are derived from the encryption keys. Without encryption keys (no Redis) a random key of the process is used.
 */
export class Fingerprints {
  readonly #keys: readonly { kid: string; key: KeyObject }[];

  constructor(keys: readonly EncryptionKey[]) {
    const derived = keys.map(({ kid, key }) => ({
      kid,
      key: createSecretKey(
        Buffer.from(hkdfSync('sha256', key.export(), '', 'gateway guard fingerprint', 32)),
      ),
    }));
    this.#keys = derived.length > 0 ? derived : [{ kid: 'process', key: createSecretKey(randomBytes(32)) }];
  }

  /** Of canonical JSON, under every key, the current one first, so that a payload is recognised after a rotation of keys. */
  of(text: string): readonly string[] {
    return this.#keys.map(
      ({ kid, key }) => `${kid}:${createHmac('sha256', key).update(text).digest('base64url')}`,
    );
  }
}

/** JSON with sorted members, and without the values that JSON cannot have. */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const members = Object.entries(value as object).filter(([, member]) => member !== undefined);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}
