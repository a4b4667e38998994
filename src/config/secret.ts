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
  /** The current value, and perhaps an earlier one. */
  readonly #candidates: string[];
  /** The value that has worked last. The first one counts as such. */
  #worked: string;

  constructor(value: string) {
    super(value);
    this.#candidates = [value];
    this.#worked = value;
  }

  override reveal(): string {
    return this.#candidates[0] as string;
  }

  /**
   * The current value, then the one that has worked last until {@link settled}: an operator cannot change a secret in two places at once, and
   * may correct a wrong value. It is always the same array, whose content changes with the secret.
   */
  get candidates(): readonly string[] {
    return this.#candidates;
  }

  rotate(value: string): void {
    const current = this.reveal();
    // A value that worked before may be the current one again. Then the one between them may be the platform's.
    const other = value === this.#worked ? current : this.#worked;
    if (value !== current) this.#candidates.splice(0, 2, value, other);
  }

  /** Forgets the earlier value if this one, which has worked, is the current one. The secret may have changed since it was sent. */
  settled(worked: string): void {
    this.#worked = worked;
    if (worked === this.reveal()) this.#candidates.length = 1;
  }
}
