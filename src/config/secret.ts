import { inspect } from 'node:util';

const MASK = '[secret]';

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
