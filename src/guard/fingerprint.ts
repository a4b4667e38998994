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

/** What JSON writes as it is, between quotes. */
const PLAIN = /^[ !#-[\]-~]*$/;

/** JSON with the members of every object in order; what JSON leaves out is left out. Exported for the test only. */
export function canonical(value: unknown): string {
  if (typeof value === 'string') return PLAIN.test(value) ? `"${value}"` : JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  let text = '';
  for (const name of inOrder(Object.keys(value))) {
    const member = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    text += `${text === '' ? '' : ','}${canonical(name)}:${canonical(member)}`;
  }
  return `{${text}}`;
}

function inOrder(names: string[]): string[] {
  for (let at = 1; at < names.length; at++) {
    if ((names[at - 1] as string) > (names[at] as string)) return names.sort();
  }
  return names;
}
