import { edge } from '../../shared/edge.ts';

/** Returns a result for each item, in the order of the items. */
type Command<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

/**
 * Collects the items that arrive while a command runs. The next command serves all of them. One command runs at a time, and no item gets
 * the reply to a command that was sent before the item arrived. If a command fails, all its items are rejected, or each gets the fallback.
 * Neither this nor a fault keeps the next item from its command.
 */
export class Batcher<Item, Result> {
  readonly #items: Item[] = [];
  #results = Promise.withResolvers<readonly Result[]>();
  #isBusy = false;
  readonly #send: () => void;

  constructor(
    at: string,
    command: Command<Item, Result>,
    private readonly start = (send: () => void) => send(),
    private readonly fallback?: () => Result,
  ) {
    const giveUp = edge(at, () => this.#runNext(() => Promise.reject(new Error(`${at}: nothing was sent`))));
    this.#send = edge(at, () => this.#runNext(command), giveUp);
  }

  add(item: Item): Promise<Result> {
    const index = this.#items.push(item) - 1;
    const { promise } = this.#results;
    if (!this.#isBusy) this.#startNext();
    return promise.then((results) => results[index] as Result, this.fallback);
  }

  /** If the start throws, the batcher is idle again. No command ends before this function returns. */
  #startNext(): void {
    this.start(this.#send);
    this.#isBusy = true;
  }

  async #runNext(command: Command<Item, Result>): Promise<void> {
    const items = this.#items.splice(0);
    const { resolve, reject } = this.#results;
    this.#results = Promise.withResolvers();
    await Promise.try(command, items).then(resolve, reject);
    this.#isBusy = false;
    if (this.#items.length > 0) this.#startNext();
  }
}
