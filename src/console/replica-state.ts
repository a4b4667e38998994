import type { RecentEvent } from '../observability/recent-events.ts';
import type { StopReason } from '../order-ledger/store-watch.ts';
import type { TokenStanding } from '../token/token.store.ts';
import type { Buckets } from './counts.ts';
import type { Beat } from './traffic.ts';

type Named<T> = readonly (readonly [string, T])[];

/** What one caller did in the last five minutes. */
export interface CallerTraffic {
  readonly name: string;
  readonly requests: number;
  readonly refused: number;
  readonly inFlight: number;
  readonly left: number | null;
  readonly limit: { readonly requests: number; readonly perSeconds: number } | null;
}

/** One process as the console shows it: plain JSON, which replicas pass on to each other through Redis. */
export interface ReplicaState {
  readonly id: string;
  readonly version: string;
  /** In ms since the epoch. */
  readonly startedAt: number;
  readonly at: number;
  readonly draining: boolean;
  readonly overload: string | null;
  readonly inFlight: number;
  readonly memoryBytes: number;
  readonly redis: PartState;
  readonly orders: PartState & { readonly stopped: StopReason; readonly unreadable: number };
  readonly tokens: {
    readonly held: readonly TokenStanding[];
    readonly failure: { readonly principal: string; readonly kind: string; readonly reason: string } | null;
  };
  readonly circuits: Named<'closed' | 'half-open' | 'open'>;
  readonly seconds: number;
  readonly beats: readonly Beat[];
  readonly requests: Named<number>;
  readonly latency: Named<Buckets>;
  readonly attempts: Named<number>;
  readonly attemptLatency: Named<Buckets>;
  readonly cache: Named<number>;
  readonly refused: Named<number>;
  readonly tokenEvents: Named<number>;
  readonly callers: readonly CallerTraffic[];
  readonly events: readonly RecentEvent[];
}

interface PartState {
  readonly status: 'up' | 'down' | 'off';
  /** Why it is down. */
  readonly reason: string | null;
}
