import type { Move } from './write-steps.ts';

/** The writes of this process whose outcome the database does not have yet. The end of the process waits for them. */
export class OpenWrites {
  /** The owners of the writes whose outcome is not known yet. */
  readonly #begun = new Set<string>();
  readonly #unrecorded = new Set<Move>();
  readonly #over = Promise.withResolvers<void>();
  #isEnding = false;

  begun(owner: string): void {
    this.#begun.add(owner);
  }

  /** The outcome of a write is known, and has to be recorded. */
  known(move: Move): void {
    this.#unrecorded.add(move);
    this.#begun.delete(move.owner ?? '');
  }

  /** Nothing more is tried for this outcome. */
  done(move: Move): void {
    this.#unrecorded.delete(move);
    this.#checkEnd();
  }

  /** Waits until all outcomes are recorded, or until {@link giveUp}. */
  end(): Promise<void> {
    this.#isEnding = true;
    this.#checkEnd();
    return this.over;
  }

  /** Resolves when {@link end} does. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** Returns the outcomes that are not recorded, each only once. */
  giveUp(): readonly Move[] {
    this.#over.resolve();
    const left = [...this.#unrecorded];
    this.#unrecorded.clear();
    return left;
  }

  #checkEnd(): void {
    if (this.#isEnding && this.#begun.size + this.#unrecorded.size === 0) this.#over.resolve();
  }
}
