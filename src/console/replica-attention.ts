import { Injectable } from '@nestjs/common';
import { Admission } from '../http/admission.ts';
import { FollowedFiles, type RefusedFile } from '../observability/followed-files.ts';
import { Metrics } from '../observability/metrics.ts';
import { Database } from '../database/database.ts';
import { WriteRecords } from '../order-ledger/write-rows.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import type { MaybeAttention } from './attention-item.ts';
import { counted, duration } from './words.ts';

/** The alerts have the same times. */
const CERTIFICATE_MS = 14 * 86_400_000;
const TLS_MS = 600_000;
const NOT_RECORDED_MS = 900_000;
/** The time for which the console shows a refused body or connection. Each of them is refused alone, so no state of the process shows it. */
const REFUSED_MS = 60_000;
const REFUSED_SINGLY = new Set(['bodies', 'connections']);

/** What this process knows about itself and about what it depends on, without the platform. */
export interface ReplicaState {
  readonly draining: boolean;
  /** The limit because of which requests are refused. */
  readonly overload: string | undefined;
  readonly redis: Pick<SharedRedis, 'status' | 'reason'>;
  readonly database: Database['trust']['trouble'];
  /** Whether a failover of the database may lose commits. */
  readonly databaseIsWeak: boolean;
  /** The number of records of writes that cannot be read. */
  readonly unreadable: number;
  readonly refusedFiles: readonly RefusedFile[];
  /** The certificates that end soon, or have ended. */
  readonly certificates: readonly { readonly name: string; readonly leftMs: number }[];
  /** The servers with which TLS failed. */
  readonly tlsRefused: readonly string[];
  /** Why the public keys of the JWT issuer were missed. */
  readonly issuerKeys: readonly string[];
  /** Why results of orders were not recorded. */
  readonly notRecorded: readonly string[];
}

@Injectable()
export class ReplicaWatch {
  constructor(
    private readonly admission: Admission,
    private readonly redis: SharedRedis,
    private readonly database: Database,
    private readonly records: WriteRecords,
    private readonly files: FollowedFiles,
    private readonly metrics: Metrics,
  ) {}

  async state(now: number): Promise<ReplicaState> {
    const { metrics } = this;
    const missing = await metrics.samples('gateway_issuer_keys_missing_seconds');
    const ends = await metrics.samples('gateway_certificate_expiry_timestamp_seconds');
    return {
      draining: this.admission.draining,
      overload: this.admission.overload ?? this.#refused(),
      redis: this.redis,
      database: this.database.trust.trouble,
      databaseIsWeak: this.database.trust.isWeak,
      unreadable: this.records.unreadable,
      refusedFiles: this.files.refusedNow,
      certificates: ends
        .map(({ labels, value }) => ({ name: labels['certificate'] ?? '', leftMs: value * 1_000 - now }))
        .filter(({ leftMs }) => leftMs < CERTIFICATE_MS),
      tlsRefused: metrics.recent('gateway_tls_failures_total', TLS_MS).map(({ server = '' }) => server),
      issuerKeys: missing.flatMap(({ labels, value }) => (value > 0 ? [labels['reason'] ?? ''] : [])),
      notRecorded: metrics
        .recent('gateway_order_results_not_recorded_total', NOT_RECORDED_MS)
        .map(({ reason = '' }) => reason),
    };
  }

  #refused(): string | undefined {
    const refused = this.metrics.recent('gateway_requests_refused_total', REFUSED_MS);
    return refused.map(({ reason = '' }) => reason).find((reason) => REFUSED_SINGLY.has(reason));
  }
}

const DATABASE_ALERTS: Readonly<Record<string, string>> = {
  away: 'DatabaseAway',
  unready: 'DatabaseLost',
  identity: 'DatabaseLost',
  numbers: 'DatabaseLost',
};

export const database = ({
  database: { stopped, reason },
  databaseIsWeak,
  unreadable,
  notRecorded,
}: ReplicaState): MaybeAttention[] => [
  stopped !== 'none' && {
    level: 'act',
    title: 'Orders are refused',
    detail: reason ?? 'The database cannot be used',
    alert: DATABASE_ALERTS[stopped] ?? 'DatabaseUnfit',
  },
  databaseIsWeak && {
    level: 'watch',
    title: 'A failover of the database may lose orders',
    detail:
      'Its standbys are not synchronous, or similar: the log line `database-weak` says what. Orders would stop after such a failover',
    alert: 'DatabaseWeak',
  },
  unreadable > 0 && {
    level: 'act',
    title: `${counted(unreadable, 'record')} of writes cannot be read`,
    detail:
      'Sealed under a key that ENCRYPTION_KEYS does not have, or damaged: the log names them. A caller that repeats such an order gets 503.',
    alert: 'OrderRecordsUnreadable',
  },
  notRecorded.length > 0 && {
    level: 'act',
    title: 'The outcome of an order is known and could not be recorded',
    detail: `The reason is ${notRecorded.join(', ')}, within the last 15 minutes. The log names the order and its outcome`,
    alert: 'OrderResultNotRecorded',
  },
];

export const replicaTrouble = (state: ReplicaState): MaybeAttention[] => [
  state.overload !== undefined && {
    level: 'act',
    title: 'New requests are refused',
    detail: `The process has reached its limit: ${state.overload}`,
    alert: 'Overloaded',
  },
  state.tlsRefused.length > 0 && {
    level: 'act',
    title: `TLS fails with: ${state.tlsRefused.join(', ')}`,
    detail: 'One side did not accept a certificate or the settings of the other within the last 10 minutes',
    alert: 'TlsRefused',
  },
  ...state.certificates.map(certificate),
  ...state.refusedFiles.map(refusedFile),
  state.issuerKeys.length > 0 && {
    level: 'watch',
    title: 'The public keys of the JWT issuer cannot be read',
    detail: `JWT_JWKS_URL has brought no keys several times in a row (${state.issuerKeys.join(', ')}). Known keys count for an hour, then JWTs are refused. API keys go on`,
    alert: 'IssuerKeysMissing',
  },
  state.redis.status === 'down' && {
    level: 'watch',
    title: 'The shared Redis cannot be used',
    detail: `${(state.redis.reason ?? 'no connection').replace(/\.$/, '')}. Reads go on; sessions get 503, rates are counted by each replica alone`,
    alert: 'RedisAway',
  },
  state.draining && {
    level: 'watch',
    title: 'This replica stops',
    detail: 'It got the signal to stop, and finishes the requests that it has',
  },
];

const certificate = ({ name, leftMs }: ReplicaState['certificates'][number]): MaybeAttention => ({
  level: leftMs > 0 ? 'watch' : 'act',
  title:
    leftMs > 0 ? `The certificate ${name} ends in ${duration(leftMs)}` : `The certificate ${name} has ended`,
  detail: 'The runbook says whose it is, and how it is replaced',
  alert: 'CertificateEnds',
});

const refusedFile = ({ file, reason }: RefusedFile): MaybeAttention => ({
  level: 'watch',
  title: `The new content of ${file} is refused`,
  detail: `${/^[A-Z_]+_FILE /.test(reason) ? reason : `${file} ${reason}`}. What the file had before stays in use: what was added does not count yet, and what was taken out still does`,
  alert: 'FileRefused',
});
