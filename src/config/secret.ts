import { inspect } from 'node:util';
import { MASK } from '../shared/secret-fields.ts';

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
  #current: string;
  #previous: string | undefined;

  constructor(value: string) {
    super(value);
    this.#current = value;
  }

  override reveal(): string {
    return this.#current;
  }

  /** The current value, then the previous one until {@link settled}: an operator cannot change a secret in two places at once. */
  candidates(): readonly string[] {
    return this.#previous === undefined ? [this.#current] : [this.#current, this.#previous];
  }

  rotate(value: string): void {
    if (value === this.#current) return;
    this.#previous = this.#current;
    this.#current = value;
  }

  /** The current value works, so the previous one is forgotten. */
  settled(): void {
    this.#previous = undefined;
  }
}
