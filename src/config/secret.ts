import { inspect } from 'node:util';
import { MASK } from '../shared/secret-fields.ts';

/** Text that does not match has a line break within, or comes from a file of another encoding. */
export const SECRET_TEXT = /^[^\p{Cc}\u{fffd}]+$/u;

/**
 * A value that must not be seen: printing, inspecting or serialising it gives `[secret]`.
 * Only {@link Secret.reveal} hands the value out, so every use can be found by searching for that word.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** A secret that may be replaced while the process runs. */
export class RotatingSecret extends Secret {
  /** The current value, and perhaps the previous one. */
  readonly #candidates: string[];

  constructor(value: string) {
    super(value);
    this.#candidates = [value];
  }

  override reveal(): string {
    return this.#candidates[0] as string;
  }

  /**
   * The current value, then the previous one until {@link settled}: an operator cannot change a secret in two places at once. It is always
   * the same array, whose content changes with the secret.
   */
  get candidates(): readonly string[] {
    return this.#candidates;
  }

  rotate(value: string): void {
    const current = this.reveal();
    if (value !== current) this.#candidates.splice(0, 2, value, current);
  }

  /** Forgets the previous value if this one, which has worked, is the current one. The secret may have changed since it was sent. */
  settled(worked: string): void {
    if (worked === this.reveal()) this.#candidates.length = 1;
  }
}
