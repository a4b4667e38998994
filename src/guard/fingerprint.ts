import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { EncryptionKey } from '../config/variables.ts';

/**
 * Tells payloads apart without keeping them: HMAC-SHA-256 over canonical JSON, under keys of its own derived from the encryption
 * keys, since bodies hold secrets that could be guessed. Without any key (no Redis) it lasts as long as the process.
 */
export class Fingerprints {
  readonly #keys: readonly { kid: string; key: Buffer }[];

  constructor(keys: readonly EncryptionKey[]) {
    const derived = keys.map(({ kid, key }) => ({
      kid,
      key: Buffer.from(hkdfSync('sha256', key.export(), '', 'gateway guard fingerprint', 32)),
    }));
    this.#keys = derived.length > 0 ? derived : [{ kid: 'process', key: randomBytes(32) }];
  }

  /** Under every key, the one that is used now first: after a rotation a payload is still recognised. */
  of(payload: unknown): readonly string[] {
    const text = canonical(payload);
    return this.#keys.map(
      ({ kid, key }) => `${kid}:${createHmac('sha256', key).update(text).digest('base64url')}`,
    );
  }
}

/** JSON with the members of every object in order; what JSON leaves out is left out. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(
      Object.entries(member).sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0)),
    );
  });
}
