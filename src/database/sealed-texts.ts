import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { type EncryptionKey, Sealer } from '../kit/sealed-store/sealed-store.ts';

/**
 * Seals the data that a store keeps in addition to the columns that it searches. A text can be opened only with the platform and the name
 * for which it was sealed. Without encryption keys, which only a database in memory may lack, the text is stored unchanged.
 */
export class SealedTexts {
  readonly #sealer: Sealer | undefined;
  readonly #hashing: readonly KeyObject[];

  constructor(
    keys: readonly EncryptionKey[],
    private readonly platform: string,
  ) {
    this.#sealer = keys.length > 0 ? new Sealer(keys) : undefined;
    // A database in memory ends with the process, as this key does.
    this.#hashing = this.#sealer ? keys.map(({ key }) => key) : [createSecretKey(randomBytes(32))];
  }

  seal(text: string, name: string): string {
    return this.#sealer?.seal(text, this.#bound(name)) ?? text;
  }

  /** Returns undefined if none of the keys opens the text, or if the text was changed since. */
  open(sealed: string, name: string): string | undefined {
    return this.#sealer ? this.#sealer.open(sealed, this.#bound(name)) : sealed;
  }

  /** Seals a large value. As bytes it takes less space than as text. */
  sealBytes(bytes: Buffer, name: string): Buffer {
    return this.#sealer?.sealBytes(bytes, this.#bound(name)) ?? bytes;
  }

  openBytes(sealed: Buffer, name: string): Buffer | undefined {
    return this.#sealer ? this.#sealer.openBytes(sealed, this.#bound(name)) : sealed;
  }

  /** Hashes of a text that is looked for and not kept, under each key. What is kept has the first. */
  hashesOf(text: string, name: string): readonly string[] {
    const hashed = `hash ${this.#bound(name)}\n${text}`;
    return this.#hashing.map((key) => createHmac('sha256', key).update(hashed).digest('base64url'));
  }

  /** The beginnings of the texts that one of the keys opens. Without keys it is the beginning of every text. */
  get heads(): readonly string[] {
    return this.#sealer?.heads ?? [''];
  }

  /** Whether it was sealed under a key that the gateway does not have. */
  lacksKeyOf(sealed: string): boolean {
    return this.#sealer?.lacksKeyOf(sealed) ?? false;
  }

  /** Whether bytes were sealed under a key that the gateway does not have. */
  lacksKeyOfBytes(sealed: Buffer): boolean {
    return this.lacksKeyOf(sealed.toString('latin1', 0, sealed.indexOf('.', sealed.indexOf('.') + 1) + 1));
  }

  isUnderFirstKey(sealed: string): boolean {
    return this.#sealer?.isUnderFirstKey(sealed) ?? true;
  }

  #bound(name: string): string {
    return `${this.platform} ${name}`;
  }
}
