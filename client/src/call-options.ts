/** Options of one call, in addition to its input. */
export interface CallOptions {
  /**
   * The signal that ends the call, or the stream that it resolved to. Both reject with the signal's reason. A write that was in progress
   * may have been carried out.
   */
  readonly signal?: AbortSignal | undefined;
  /** The time for all attempts together. The default is that of the client. */
  readonly timeoutMs?: number | undefined;
  /**
   * The key of a POST. By default the client makes one up for the call. Give your own to repeat a write after a restart of your process.
   */
  readonly idempotencyKey?: string | undefined;
  /**
   * The id of the request: 1 to 64 of `[A-Za-z0-9_.:-]`. By default the client makes one up for the call. The gateway writes it into every
   * log line.
   */
  readonly requestId?: string | undefined;
  /**
   * The `etag` that `responseOf` returned for an earlier read. The write is refused with `precondition-failed` if the content has changed.
   */
  readonly ifMatch?: string | undefined;
  /** True to bypass the gateway's read cache. */
  readonly fresh?: boolean | undefined;
}

/** Options of a walk over all pages of a list. */
export interface WalkOptions extends CallOptions {
  /** Runs with each page before its items are yielded, even with an empty one. `responseOf(page)` returns the facts of its response. */
  readonly onPage?: ((page: object) => void) | undefined;
}

/** Options of a walk over events, which has no end, and of the watch of a job. */
export interface EventsOptions extends CallOptions {
  /** Runs when the gateway begins to send events: at first, and each time that a lost connection is restored. */
  readonly onOpen?: (() => void) | undefined;
  /**
   * Runs when there was no connection, or when the gateway refused for a time. The client tries again, without an end. `why` is the error
   * with which a call would reject. Without this function, the client warns on the console once 30 s have passed without an answer.
   */
  readonly onRetry?: ((why: Error) => void) | undefined;
}

/** Yields all items of a list, page after page, for `for await`. */
export type Walk<Item> = AsyncGenerator<Item, void, undefined>;

/** A method of the client as data. */
export interface Operation {
  readonly group: string;
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** The name of the method that walks all pages. True means `each`. */
  readonly each?: string | true;
  /** The name of the dry run's method, if the call has one. True means `preview` and the name. */
  readonly preview?: string | true;
  /** True if the call is the dry run. */
  readonly dry?: boolean;
  /** Statuses of 400 and more whose body is a result, separated by commas. */
  readonly answers?: string;
  /** True if it acts for a user of the platform. */
  readonly user?: boolean;
  /** True if the gateway runs it at most once by a number in its body. The client then repeats an attempt whose answer was lost. */
  readonly guarded?: boolean;
  /** True if it needs no credentials. */
  readonly open?: boolean;
}

/** Reads the operations of rows such as `members list GET ~/members user each`: group, name, method, path, and further fields. */
export function tableOf<Id extends string>(
  rows: Readonly<Record<Id, string>>,
): Readonly<Record<Id, Operation>> {
  const table = Object.entries<string>(rows).map(([id, row]) => {
    const [group = '', name, method, short = '', ...more] = row.split(' ');
    // A path without a slash lies below `/v1/`. `@` is a member, `~` an enterprise, and `#` an order. `+` is the name of the
    // group, and `:` the id of one of the group.
    const path = short
      .replace(/^(?!\/)/, '/v1/')
      .replace('@', '~/members/{memberGlobalId}')
      .replace('~', 'enterprises/{enterpriseGlobalId}')
      .replace('#', 'license-orders/{channelCode}/{channelOrderId}')
      .replace('+', group)
      .replace(':', `{${group.slice(0, -1)}Id}`);
    // A field without a text is true.
    const fields = Object.fromEntries(more.map((field) => [...field.split('='), true]));
    return [id, { group, name, method, path, ...fields }];
  });
  return Object.fromEntries(table) as Record<Id, Operation>;
}
