/** Requests and their responses, without tokens, passwords and secrets. */
import type { IncomingHttpHeaders } from 'node:http';
import type { TokenStore } from '../access/tokens.ts';
import { isDeeperThan, isObject } from '../json.ts';
import { OPERATIONS } from '../operations.ts';

/** One request; the sandbox fills in the last four fields when it responds. */
export interface JournalEntry {
  readonly id: number;
  readonly at: number;
  /** An operation's name, `token`, or null for an unknown path. */
  readonly operation: string | null;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly labels: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** The status. Null until the response is sent, and for a response that never is. */
  status: number | null;
  code: string | null;
  committed: boolean;
  fault: string | null;
}

type Arrival = Pick<JournalEntry, 'at' | 'operation' | 'method' | 'path' | 'query' | 'headers' | 'body'>;

/** Operations whose bodies may hold passwords. The passwords in an order's body are codes of locks, and are shown. */
const WITH_PASSWORDS: ReadonlySet<string | null> = new Set(
  OPERATIONS.filter(({ module }) => module === 'member').map(({ name }) => name),
);

/** The deepest body that is shown. */
const MAX_DEPTH = 500;

/** The most request bytes whose parsed bodies are kept. Without a limit, a benchmark of large batches fills the memory. */
const KEPT_BYTES = 64 * 1024 * 1024;

export class Journal {
  readonly #tokens: TokenStore;
  readonly #limit: number;
  #entries: JournalEntry[] = [];
  #bytes = 0;
  #lastId = 0;

  /** Keeps the latest `limit` entries, and fewer if their bodies are large. */
  constructor(tokens: TokenStore, limit: number) {
    this.#tokens = tokens;
    this.#limit = limit;
  }

  /** Records a request; `bytes` is the size of its body. */
  open(arrival: Arrival, bytes: number): JournalEntry {
    const entry: JournalEntry = {
      ...arrival,
      id: ++this.#lastId,
      // The label is made now, because the token may be forgotten before a test reads the journal.
      labels: this.#labels(arrival.headers),
      status: null,
      code: null,
      committed: false,
      fault: null,
    };
    this.#entries.push(entry);
    this.#bytes += bytes;
    // The journal is cut at twice the limit, so that cutting is rare.
    if (this.#entries.length > this.#limit * 2) this.#cut(this.#limit);
    else if (this.#bytes > KEPT_BYTES) this.#cut(Math.ceil(this.#entries.length / 2));
    return entry;
  }

  /** Returns entries as JSON, the oldest first: of one operation, after an id, or all that are kept. */
  list(filter: { operation: string | null; after: number }): unknown[] {
    return this.#entries
      .slice(Math.max(0, this.#entries.length - this.#limit))
      .filter(({ id, operation }) => id > filter.after && (filter.operation ?? operation) === operation)
      .map(view);
  }

  clear(): void {
    this.#entries = [];
    this.#bytes = 0;
  }

  #cut(kept: number): void {
    const { length } = this.#entries;
    this.#entries = this.#entries.slice(length - kept);
    this.#bytes *= kept / length;
  }

  #labels(headers: IncomingHttpHeaders): Record<string, string> {
    const labels: Record<string, string> = {};
    const { authorization } = headers;
    if (authorization !== undefined) {
      const [scheme = '', token = ''] = authorization.split(/ +/, 2);
      labels['authorization'] =
        scheme.toLowerCase() === 'bearer' ? this.#tokens.label(token) : 'not a bearer token';
    }
    for (const name of ['clienttoken', 'usertoken']) {
      const token = headers[name];
      if (token !== undefined) labels[name] = this.#tokens.label(String(token).replace(/^bearer +/i, ''));
    }
    return labels;
  }
}

function view({ labels, at, query, headers, ...entry }: JournalEntry): unknown {
  const { id, operation, method, path, body, status, code, committed, fault } = entry;
  const values = Object.fromEntries(
    [...new Set(query.keys())].map((name) => {
      const all = query.getAll(name);
      return [name, all.length === 1 ? all[0] : all];
    }),
  );
  return {
    id,
    at: new Date(at).toISOString(),
    operation,
    method,
    path,
    query: values,
    headers: { ...headers, ...labels },
    body: bodyView(operation, body),
    status,
    code,
    committed,
    fault,
  };
}

function bodyView(operation: string | null, body: unknown): unknown {
  if (isDeeperThan(body, MAX_DEPTH)) return `(nested deeper than ${MAX_DEPTH})`;
  return (WITH_PASSWORDS.has(operation) ? masked(body) : body) ?? null;
}

/** Returns a copy with `[password]` instead of every password that is not empty. A body that could not be parsed is not shown. */
function masked(value: unknown): unknown {
  if (typeof value === 'string') return '(not JSON)';
  return hidePasswords(value);
}

function hidePasswords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hidePasswords);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const empty = item === undefined || item === null || item === '';
      return [name, name === 'password' && !empty ? '[password]' : hidePasswords(item)];
    }),
  );
}
