import { Injectable } from '@nestjs/common';
import { Metrics } from '../observability/metrics.ts';
import { Script } from '../kit/redis-script/redis-script.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { operationList, type UpstreamOperation } from './operations.ts';
import { PlatformReadings } from './platform-readings.ts';
import { edge } from '../shared/edge.ts';
import { meaningOf } from './problems/upstream-codes.ts';

/** How a usable response departs from the interface (docs/api.md, section 7). */
export const gapKinds = [
  'unknown-field',
  'unknown-word',
  'wrong-type',
  'null',
  'empty',
  'missing',
  'time-unit',
  'limit',
  'unknown-code',
] as const;
export type GapKind = (typeof gapKinds)[number];

/** A departure: its kind and the field's path (`data.list[].keyChipType`), never a value but a code (`code=13017`). */
type Note = Pick<Gap, 'path' | 'kind'>;

const CODE_PATH = 'code=';
const CODE = /^[A-Za-z0-9_.:-]{1,32}$/;

/** Returns the code in the path of a gap of the kind `unknown-code`. */
export function codeOf(path: string): string | undefined {
  return path.startsWith(CODE_PATH) ? path.slice(CODE_PATH.length) : undefined;
}

const VIOLATION = 'contract-violation';
const NONE: ReadonlyMap<string, Note> = new Map();

/** Collects the departures of one response, each once. Most responses have none. */
export class ContractNotes {
  #noted: Map<string, Note> | undefined;

  add(path: string, kind: GapKind): void {
    this.#noted ??= new Map();
    this.#noted.set(`${kind} ${path}`, { path, kind });
  }

  /** Notes a code that is neither in the interface nor taught. A text that does not have the form of a code is not repeated. */
  addCode(code: string): void {
    this.add(CODE.test(code) ? `${CODE_PATH}${code}` : 'code', 'unknown-code');
  }

  [Symbol.iterator](): Iterator<Note> {
    return (this.#noted ?? NONE).values();
  }
}

/** A departure of the platform's responses from its interface, by name: never a value. Times are in ms since the epoch. */
export interface Gap {
  /** The gateway's operation in which it occurs. */
  readonly operation: string;
  /** The path of the field, such as `data.list[].keyChipType`. */
  readonly path: string;
  readonly kind: GapKind;
  readonly count: number;
  readonly firstSeenAt: number;
  readonly lastSeenAt: number;
}

type Seen = Pick<Gap, 'count' | 'firstSeenAt' | 'lastSeenAt'>;

const MAX_GAPS = 1_000;
const FLUSH_MS = 500;

/** ARGV: the maximum of entries, then for each gap its name, count, first and last time. Entries are `count first last`. */
const ADD = new Script(`
for i = 2, #ARGV, 4 do
  local name, count, first, last = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local c, f, l = string.match(redis.call('HGET', KEYS[1], name) or '', '^(%d+) (%d+) (%d+)$')
  if c then
    count, first, last = count + c, math.min(first, f), math.max(last, l)
  end
  if c or redis.call('HLEN', KEYS[1]) < tonumber(ARGV[1]) then
    redis.call('HSET', KEYS[1], name, string.format('%.0f %.0f %.0f', count, first, last))
  end
end
`);

/**
 * The list of gaps for the platform's owner. It is bounded, and lies in Redis for all replicas, or in the process while Redis cannot be
 * used.
 */
@Injectable()
export class UpstreamGaps {
  readonly #key: string;
  /** The gaps that this process has seen. Without Redis there is no other list. */
  readonly #seen = new Map<string, Seen>();
  /** The gaps that Redis does not have yet. */
  #pending = new Map<string, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #sent = Promise.resolve();

  constructor(
    private readonly redis: SharedRedis,
    private readonly metrics: Metrics,
    private readonly readings: PlatformReadings,
  ) {
    this.#key = `${redis.environment}:gaps`;
    for (const { name: operation } of operationList)
      metrics.count('gateway_upstream_contract_warnings_total', { operation, what: VIOLATION }, 0);
  }

  /** Notes a response that could not be read at all. */
  violated({ name }: UpstreamOperation): void {
    this.metrics.count('gateway_upstream_contract_warnings_total', { operation: name, what: VIOLATION });
  }

  add({ operationId }: UpstreamOperation, notes: ContractNotes): void {
    const now = Date.now();
    for (const { path, kind } of notes) {
      this.metrics.count('gateway_upstream_gaps_total', { operation: operationId, kind });
      const name = `${operationId} ${kind} ${path}`;
      const seen = { count: 1, firstSeenAt: now, lastSeenAt: now };
      merge(this.#seen, name, seen);
      if (this.redis.configured) merge(this.#pending, name, seen);
    }
    if (this.#pending.size > 0)
      this.#timer ??= setTimeout(
        edge('gaps', () => this.#flush()),
        FLUSH_MS,
      ).unref();
  }

  /** Returns all gaps, in the order of operations and paths, without codes that the profile teaches by now. */
  async list(): Promise<Gap[]> {
    const entries = (await this.#shared()) ?? this.#seen;
    return [...entries]
      .flatMap(([name, seen]) => {
        const [operation, kind, path] = name.split(' ');
        const known = gapKinds.find((each) => each === kind);
        return operation && path && known ? [{ operation, path, kind: known, ...seen }] : [];
      })
      .filter((gap) => gap.kind !== 'unknown-code' || !this.#isTaught(gap))
      .toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
  }

  #isTaught({ operation, path }: Gap): boolean {
    const of = operationList.find(({ operationId }) => operationId === operation);
    const code = codeOf(path);
    if (!of || code === undefined) return false;
    return meaningOf(of, { code, taught: this.readings.taught(of.module, code) }) !== undefined;
  }

  /** Returns the gaps of all replicas. Undefined if Redis is not available. */
  async #shared(): Promise<Map<string, Seen> | undefined> {
    if (!this.redis.configured) return undefined;
    try {
      await this.#flush();
      const stored = await this.redis.run((client) => client.hgetall(this.#key));
      const all = new Map(
        Object.entries(stored).map(([name, text]) => {
          const [count = 0, firstSeenAt = 0, lastSeenAt = 0] = text.split(' ').map(Number);
          return [name, { count, firstSeenAt, lastSeenAt }];
        }),
      );
      // Redis may accept reads and refuse writes.
      for (const [name, seen] of this.#pending) merge(all, name, seen);
      return all;
    } catch {
      return undefined;
    }
  }

  /** Resolves when Redis has all gaps noted so far, or does not accept them. */
  #flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return (this.#sent = this.#sent.then(() => this.#send()));
  }

  /** Sends new gaps to Redis. If Redis does not accept them, they are sent with the next ones. */
  async #send(): Promise<void> {
    if (this.#pending.size === 0) return;
    const pending = this.#pending;
    this.#pending = new Map();
    const values = [...pending].flatMap(([name, gap]) => [name, gap.count, gap.firstSeenAt, gap.lastSeenAt]);
    try {
      await this.redis.run((client) => ADD.run(client, [this.#key], [MAX_GAPS, ...values]));
    } catch {
      for (const [name, seen] of pending) merge(this.#pending, name, seen);
    }
  }
}

function merge(gaps: Map<string, Seen>, name: string, seen: Seen): void {
  const known = gaps.get(name);
  if (!known && gaps.size >= MAX_GAPS) return;
  gaps.set(name, {
    count: seen.count + (known?.count ?? 0),
    firstSeenAt: Math.min(seen.firstSeenAt, known?.firstSeenAt ?? Infinity),
    lastSeenAt: Math.max(seen.lastSeenAt, known?.lastSeenAt ?? 0),
  });
}

function sortKey({ operation, path, kind }: Gap): string {
  return `${operation} ${path} ${kind}`;
}
