import { inspect } from 'node:util';
import { MASK } from '../shared/secret-fields.ts';

/** Other text is a file of another encoding, or has a line break within. */
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
  /** One or two. */
  readonly #candidates: string[];

  constructor(value: string) {
    super(value);
    this.#candidates = [value];
  }

  override reveal(): string {
    return this.#candidates[0] as string;
  }

  /**
   * The current value, then the previous one until {@link settled}: an operator cannot change a secret in two places at once. It is one
   * list, which changes with the secret.
   */
  get candidates(): readonly string[] {
    return this.#candidates;
  }

  rotate(value: string): void {
    const current = this.reveal();
    if (value !== current) this.#candidates.splice(0, 2, value, current);
  }

  /** The current value works, so the previous one is forgotten. */
  settled(): void {
    this.#candidates.length = 1;
  }
}
