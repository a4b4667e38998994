import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { type EncryptionKey, sealedHead, Sealer } from '../kit/sealed-store/sealed-store.ts';
import { DatabaseUnavailable } from './database-unavailable.ts';

/**
 * Seals the data that a store keeps in addition to the columns that it searches. A text can be opened only with the platform and the name
 * for which it was sealed. Without encryption keys, which only a database in memory may lack, the text is stored unchanged.
 *
 * An operator may remove a key, and what it has sealed is then closed for good. A key that is neither there nor removed belongs to another
 * gateway, which was restarted with it first: to leave out what it has sealed would lose it, so opening it rejects the request.
 */
export class SealedTexts {
  readonly #sealer: Sealer | undefined;
  readonly #hashing: readonly KeyObject[];

  constructor(
    keys: readonly EncryptionKey[],
    private readonly platform: string,
    private readonly removedKeys: () => readonly string[] = () => [],
  ) {
    this.#sealer = keys.length > 0 ? new Sealer(keys) : undefined;
    // A database in memory ends with the process, as this key does.
    this.#hashing = this.#sealer ? keys.map(({ key }) => key) : [createSecretKey(randomBytes(32))];
  }

  seal(text: string, name: string): string {
    return this.#sealer?.seal(text, this.#bound(name)) ?? text;
  }

  /**
   * Returns undefined if the key of the text was removed, or if the text was changed since. Throws {@link DatabaseUnavailable} if another
   * gateway has the key.
   */
  open(sealed: string, name: string): string | undefined {
    const text = this.#sealer ? this.#sealer.open(sealed, this.#bound(name)) : sealed;
    if (text === undefined) this.#assertOwn(sealed);
    return text;
  }

  /** Seals a large value. As bytes it takes less space than as text. */
  sealBytes(bytes: Buffer, name: string): Buffer {
    return this.#sealer?.sealBytes(bytes, this.#bound(name)) ?? bytes;
  }

  /** Opens bytes in the same way as {@link open}. */
  openBytes(sealed: Buffer, name: string): Buffer | undefined {
    const bytes = this.#sealer ? this.#sealer.openBytes(sealed, this.#bound(name)) : sealed;
    if (bytes === undefined) this.#assertOwn(headOf(sealed));
    return bytes;
  }

  /** Hashes of a text that is looked for and not kept, under each key. What is kept has the first. */
  hashesOf(text: string, name: string): readonly string[] {
    const hashed = `hash ${this.#bound(name)}\n${text}`;
    return this.#hashing.map((key) => createHmac('sha256', key).update(hashed).digest('base64url'));
  }

  /** The beginnings of the texts that are closed for good, because their key was removed. */
  get removedHeads(): readonly string[] {
    return this.removedKeys().map(sealedHead);
  }

  /** Whether it was sealed under a key that the gateway does not have. */
  lacksKeyOf(sealed: string): boolean {
    return this.#sealer?.lacksKeyOf(sealed) ?? false;
  }

  /** Whether bytes were sealed under a key that the gateway does not have. */
  lacksKeyOfBytes(sealed: Buffer): boolean {
    return this.lacksKeyOf(headOf(sealed));
  }

  isUnderFirstKey(sealed: string): boolean {
    return this.#sealer?.isUnderFirstKey(sealed) ?? true;
  }

  #assertOwn(sealed: string): void {
    const [, kid = ''] = sealed.split('.', 2);
    if (this.lacksKeyOf(sealed) && !this.removedKeys().includes(kid)) throw new DatabaseUnavailable('ahead');
  }

  #bound(name: string): string {
    return `${this.platform} ${name}`;
  }
}

function headOf(sealed: Buffer): string {
  return sealed.toString('latin1', 0, sealed.indexOf('.', sealed.indexOf('.') + 1) + 1);
}
