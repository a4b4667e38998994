import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import type { EncryptionKey } from '../config/variables.ts';
import { freshBytes } from '../shared/random-bytes.ts';

const FORMAT = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals values for Redis with AES-256-GCM under the first key, and opens them under any key of the list. The name of the Redis key
 * is authenticated too, so a value that was copied to another key does not open there.
 */
export class Sealer {
  readonly #keys: ReadonlyMap<string, KeyObject>;
  readonly #first: EncryptionKey;

  constructor(keys: readonly EncryptionKey[]) {
    const [first] = keys;
    if (!first) throw new Error('a sealer needs at least one key');
    this.#first = first;
    this.#keys = new Map(keys.map(({ kid, key }) => [kid, key]));
  }

  seal(text: string, redisKey: string): string {
    const iv = freshBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#first.key, iv).setAAD(Buffer.from(redisKey));
    const sealed = Buffer.concat([iv, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return `${FORMAT}.${this.#first.kid}.${sealed.toString('base64url')}`;
  }

  /** Whether the value names a key that is not in the list. */
  lacksKeyOf(value: string): boolean {
    const [format, kid = ''] = value.split('.');
    return format === FORMAT && !this.#keys.has(kid);
  }

  /** Returns the text, or undefined where none of the keys sealed the value for this Redis key, or where it was changed since. */
  open(value: string, redisKey: string): string | undefined {
    const [format, kid = '', encoded = ''] = value.split('.');
    const key = this.#keys.get(kid);
    const sealed = Buffer.from(encoded, 'base64url');
    if (format !== FORMAT || !key || sealed.length < IV_BYTES + TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(redisKey)).setAuthTag(sealed.subarray(-TAG_BYTES));
      const text = Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
      return text.toString('utf8');
    } catch {
      return undefined;
    }
  }
}
