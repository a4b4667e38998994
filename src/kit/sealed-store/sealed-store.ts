import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import { freshBytes } from '../../shared/random-bytes.ts';

/** An AES-256 key. */
export interface EncryptionKey {
  /** The id of the key. Each sealed value contains it, so that old values stay readable while keys are rotated. */
  readonly kid: string;
  /** The key itself. A KeyObject does not show its bytes when it is printed. */
  readonly key: KeyObject;
}

const FORMAT = 'v1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Returns the beginning of every text that the key with this id has sealed. */
export function sealedHead(kid: string): string {
  return `${FORMAT}.${kid}.`;
}

/**
 * Seals values for Redis with AES-256-GCM under the first key, and opens them with any key of the list. The name of the Redis key is
 * authenticated too, so a value cannot be opened under the name of another key.
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
    return `${this.#head}${this.#encrypted(text, redisKey).toString('base64url')}`;
  }

  /** Seals a large value without encoding it as text, which would take a third more space. */
  sealBytes(bytes: Buffer, redisKey: string): Buffer {
    return Buffer.concat([Buffer.from(this.#head), this.#encrypted(bytes, redisKey)]);
  }

  /** True if the value names a key that is not in the list. */
  lacksKeyOf(value: string): boolean {
    const [format, kid = ''] = value.split('.');
    return format === FORMAT && !this.#keys.has(kid);
  }

  /** True if the value names the key with which this sealer seals. */
  isUnderFirstKey(value: string): boolean {
    return value.startsWith(this.#head);
  }

  /** Returns undefined if none of the keys sealed the value for this Redis key, or if the value was changed since. */
  open(value: string, redisKey: string): string | undefined {
    const [format, kid = '', encoded = ''] = value.split('.');
    return this.#decrypted(format, kid, Buffer.from(encoded, 'base64url'), redisKey)?.toString('utf8');
  }

  /** Returns the bytes that {@link sealBytes} sealed, or undefined in the same cases as {@link open}. */
  openBytes(value: Buffer, redisKey: string): Buffer | undefined {
    const formatEnd = value.indexOf('.');
    const kidEnd = value.indexOf('.', formatEnd + 1);
    const format = value.toString('latin1', 0, Math.max(0, formatEnd));
    const kid = value.toString('latin1', formatEnd + 1, Math.max(0, kidEnd));
    return this.#decrypted(format, kid, value.subarray(kidEnd + 1), redisKey);
  }

  get #head(): string {
    return sealedHead(this.#first.kid);
  }

  #encrypted(plain: Buffer | string, redisKey: string): Buffer {
    const iv = freshBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#first.key, iv).setAAD(Buffer.from(redisKey));
    const sealed = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain);
    return Buffer.concat([iv, sealed, cipher.final(), cipher.getAuthTag()]);
  }

  #decrypted(format: string | undefined, kid: string, sealed: Buffer, redisKey: string): Buffer | undefined {
    const key = this.#keys.get(kid);
    if (format !== FORMAT || !key || sealed.length < IV_BYTES + TAG_BYTES) return undefined;
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(Buffer.from(redisKey)).setAuthTag(sealed.subarray(-TAG_BYTES));
      return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]);
    } catch {
      return undefined;
    }
  }
}

/**
 * Seals and opens the values of one store in Redis. A value that cannot be opened counts as missing. It is not deleted, because a process
 * with more keys may be able to read it.
 */
export class StoreSealer {
  constructor(
    private readonly sealer: Sealer,
    private readonly unreadable: () => void,
  ) {}

  seal(text: string, key: string): string {
    return this.sealer.seal(text, key);
  }

  /** `value` is the value in Redis, or null if Redis has none. */
  open(value: string | null, key: string): string | undefined {
    if (value === null) return undefined;
    const text = this.sealer.open(value, key);
    if (text === undefined) this.unreadable();
    return text;
  }
}

/** The `catch` of a read. The gateway did not write a value of another type, so such a value counts as one that cannot be opened. */
export function emptyIfForeign(error: unknown): string {
  if (error instanceof Error && error.message.startsWith('WRONGTYPE ')) return '';
  throw error;
}
