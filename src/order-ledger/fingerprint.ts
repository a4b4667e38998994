import { createHmac, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto';
import type { EncryptionKey } from '../config/variables.ts';

/**
 * Tells payloads apart without keeping them: HMAC-SHA-256 over canonical JSON, under keys of its own derived from the encryption
 * keys, since bodies hold secrets that could be guessed. Without any key (no Redis) it lasts as long as the process.
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

  /** Under every key, the one that is used now first: after a rotation a payload is still recognised. */
  of(payload: unknown): readonly string[] {
    const text = canonical(payload);
    return this.#keys.map(
      ({ kid, key }) => `${kid}:${createHmac('sha256', key).update(text).digest('base64url')}`,
    );
  }
}

/** JSON with the members of every object in order; what JSON leaves out is left out. Exported for the test only. */
export function canonical(value: unknown): string {
  // Orders are made in order: sorting them costs more than everything else that the order ledger does for them.
  if (isInOrder(value)) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const members = Object.entries(value as object).filter(([, member]) => member !== undefined);
  members.sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}

function isInOrder(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isInOrder);
  let last = '';
  for (const name in value) {
    if (name < last || !isInOrder((value as Record<string, unknown>)[name])) return false;
    last = name;
  }
  return true;
}
