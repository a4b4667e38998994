/** What a caller can say about one call, beside its input. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. A write that was under way may have been carried out. */
  readonly signal?: AbortSignal | undefined;
  /** Time for all attempts together; by default that of the client. */
  readonly timeoutMs?: number | undefined;
  /** Of a POST; by default made up for the call. Give your own to repeat a write after a restart of your process. */
  readonly idempotencyKey?: string | undefined;
  /** 1 to 64 of `[A-Za-z0-9_.:-]`; by default made up for the call. The gateway writes it into every log line. */
  readonly requestId?: string | undefined;
  /** The `etag` that `responseOf` gave for an earlier read: the write is refused with `precondition-failed` where the content has changed. */
  readonly ifMatch?: string | undefined;
  /** Past the gateway's read cache. */
  readonly fresh?: boolean | undefined;
}

/** Of a walk over events, which has no end, and of the watch of a job. */
export interface EventsOptions extends CallOptions {
  /** The gateway sends events from here on: at first, and each time that a lost connection is there again. */
  readonly onOpen?: (() => void) | undefined;
  /**
   * There was no connection, or the gateway refused for a time: it is tried again, without an end. `why` is as a call rejects with it.
   * Where it is not given, the client warns on the console once 30 s have passed without an answer.
   */
  readonly onRetry?: ((why: Error) => void) | undefined;
}

/** All items of a list, page after page: for `for await`. */
export type Walk<Item> = AsyncGenerator<Item, void, undefined>;

/** A method of the client as data. */
export interface Operation {
  readonly group: string;
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** The name of the method that walks all pages. */
  readonly each?: string;
  /** The method of the dry run, where the call has one. True stands for `preview` and the name. */
  readonly preview?: string | true;
  /** The call is the dry run. */
  readonly dry?: boolean;
  /** Statuses of 400 and more whose body is a result, between commas. */
  readonly answers?: string;
  /** It acts for a user of the platform. */
  readonly user?: boolean;
  /** The gateway runs it at most once by a number in its body, so an attempt whose answer was lost is made again. */
  readonly guarded?: boolean;
  /** It needs no credentials. */
  readonly open?: boolean;
}

/** The operations of rows such as `members list GET ~/members user each=each`: group, name, method, path, and further fields. */
export function tableOf<Id extends string>(
  rows: Readonly<Record<Id, string>>,
): Readonly<Record<Id, Operation>> {
  const table = Object.entries<string>(rows).map(([id, row]) => {
    const [group, name, method, short = '', ...more] = row.split(' ');
    // A path without a slash is of the areas, and `~` an enterprise.
    const path = short.replace(/^(?!\/)/, '/v1/').replace('~', 'enterprises/{enterpriseGlobalId}');
    // A field without a text is true.
    const fields = Object.fromEntries(more.map((field) => [...field.split('='), true]));
    return [id, { group, name, method, path, ...fields }];
  });
  return Object.fromEntries(table) as Record<Id, Operation>;
}
