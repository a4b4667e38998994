/** A metric's help text, and the words that each of its labels may have. */
export type Table = Readonly<
  Record<string, { help: string; labels: Readonly<Record<string, readonly string[]>> }>
>;
/** Declares a label whose words are not listed. */
const words = <Word extends string = string>(): readonly Word[] => [];

export type SealedInRedis = 'tokens' | 'cache' | 'sessions' | 'words';

/**
 * Counters. A counter that begins with 1 has no increase in Prometheus. So each counter of an alert or of the dashboard has a list of its
 * words, or the class that counts has them, and begins with 0 for each.
 */
export const COUNTERS = {
  gateway_token_events_total: {
    help: 'Events of access tokens; remembered, held_off: not requested, since the last request failed or the last token was refused; shared: taken from another replica',
    labels: {
      principal: ['application', 'user', 'session'],
      event: ['renewed', 'shared', 'refused', 'held_off', 'rejected', 'unavailable', 'remembered'],
    },
  },
  gateway_redis_unreadable_total: {
    help: 'Values in Redis that could not be decrypted and count as missing: damaged, foreign, or sealed under an unknown key',
    labels: { store: words<SealedInRedis>() },
  },
  gateway_upstream_contract_warnings_total: {
    help: 'Answers of the platform that contradict its interface or themselves',
    labels: { operation: words(), what: words<'contradiction' | 'contract-violation'>() },
  },
  gateway_upstream_gaps_total: {
    help: "Departures of the platform's answers from its interface that the gateway tolerates (listGaps names the fields)",
    labels: { operation: words(), kind: words() },
  },
  gateway_upstream_unmapped_codes_total: {
    help: 'Refusals of the platform with a business code that the gateway does not know; the console has the codes',
    labels: { operation: words() },
  },
  gateway_issuer_keys_missed_total: {
    help: "Requests for the JWT issuer's public keys that brought none; empty: the issuer publishes none",
    labels: { reason: ['unavailable', 'empty'] },
  },
  gateway_tls_failures_total: {
    help: 'Connections that failed because TLS or a certificate was refused',
    labels: { server: ['platform', 'tokens', 'redis'] },
  },
  gateway_upstream_refused_total: {
    help: 'Calls refused before anything was sent',
    labels: { group: words(), reason: words<'gate' | 'bulkhead' | 'breaker'>() },
  },
  gateway_upstream_retries_total: {
    help: 'Retries after a transient failure',
    labels: { group: words() },
  },
  gateway_requests_refused_total: {
    help: 'Requests refused because a limit was reached; caller-rate, caller-in-flight: limits of one caller',
    labels: {
      reason: [
        ...['in-flight', 'event-loop', 'heap', 'memory', 'connections', 'bodies'],
        ...['caller-rate', 'caller-in-flight'],
      ],
    },
  },
  gateway_connections_closed_total: {
    help: 'Connections closed to make room for others: idle, or without valid credentials',
    labels: {},
  },
  gateway_redis_errors_total: {
    help: 'Failed Redis commands and connections',
    labels: {
      reason: ['timeout', 'connection', 'oom', 'readonly', 'denied', 'wrongtype', 'loading', 'other'],
    },
  },
  gateway_recorded_writes_total: {
    help: 'Recorded writes (orders, or with a key), by the state that they reached in this process',
    labels: { state: words() },
  },
  gateway_order_results_not_recorded_total: {
    help: 'Known results of writes that could not be recorded; the runbook explains the reasons (OrderResultNotRecorded)',
    labels: { reason: ['conflict', 'missing', 'early', 'unavailable', 'shutdown'] },
  },
  gateway_order_reconciliation_attempts_total: {
    help: 'Searches for orders whose outcome is unknown; incomplete: a part was found; gone_once, not_seen: what the order deletes was gone, or never seen; unreadable: a list was incomplete; no_user: no user serves the enterprise; placed_twice: the platform has the order more than once',
    labels: {
      result: [
        ...['settled', 'not_found', 'incomplete', 'gone_once', 'not_seen', 'unreadable'],
        ...['no_user', 'placed_twice', 'not_needed', 'failed'],
      ],
    },
  },
  gateway_jobs_ended_total: {
    help: 'Imports that this process has ended, by their last state',
    labels: { state: ['succeeded', 'completed', 'cancelled', 'failed'] },
  },
  gateway_webhook_deliveries_total: {
    help: 'Deliveries of webhooks that this process has sent',
    labels: { result: ['delivered', 'failed'] },
  },
} as const satisfies Table;

/** Counters whose increase is an alert. The console shows the details. */
export const ALERTING = [
  'gateway_token_events_total',
  'gateway_tls_failures_total',
  'gateway_order_results_not_recorded_total',
  'gateway_requests_refused_total',
] as const satisfies readonly (keyof Counters)[];
export type AlertingCounter = (typeof ALERTING)[number];

/** Counters of events that every request or call has, with two labels. */
export const TALLIED = {
  gateway_requests_total: {
    help: 'Requests; status 499: the caller hung up before the response',
    labels: ['operation', 'status'],
  },
  gateway_upstream_attempts_total: {
    help: 'Attempts to call the platform; outcome: success or the kind of failure',
    labels: ['operation', 'outcome'],
  },
  gateway_read_cache_total: {
    help: 'Cacheable reads; hit includes responses made of cached lists; error: the cache was not available',
    labels: ['operation', 'result'],
  },
} as const;

export const TALLIED_SECONDS = {
  gateway_request_duration_seconds:
    'Time from the arrival of a request to its response, without operations that take a file or return a stream',
  gateway_upstream_attempt_duration_seconds: 'Duration of one attempt to call the platform',
} as const;

export const GAUGES = {
  gateway_build_info: {
    help: 'Always 1; the labels are the versions of the gateway and of Node that run',
    labels: { version: words(), node: words() },
  },
  gateway_token_age_seconds: {
    help: 'Age of the oldest access token in use',
    labels: { principal: words() },
  },
  gateway_principals_rejected: {
    help: 'Principals whose last token request was rejected and whose credentials have not changed since; the application counts once for each scope',
    labels: { principal: words<'application' | 'user'>() },
  },
  gateway_certificate_expiry_timestamp_seconds: {
    help: 'When a certificate ends, in seconds since 1970; the runbook explains the words (CertificateEnds)',
    labels: {
      certificate: words<TlsServer | 'listener' | 'client-ca' | 'upstream-client' | 'upstream-ca'>(),
    },
  },
  gateway_issuer_keys_missing_seconds: {
    help: "For how long requests for the JWT issuer's public keys have brought none; 0 if the latest brought keys, or was an hour ago",
    labels: { reason: words<'unavailable' | 'empty'>() },
  },
  gateway_upstream_breaker_state: {
    help: 'State of the circuit breaker: 0 closed (or no call for an hour), 1 half-open, 2 open',
    labels: { group: words() },
  },
  gateway_upstream_failures_in_a_row: {
    help: 'Calls that have failed since the latest success; 0 an hour after the latest failure',
    labels: { group: words() },
  },
  gateway_request_body_bytes: {
    help: 'Bytes of the request bodies that are under way',
    labels: {},
  },
  gateway_requests_in_flight: { help: 'Requests that have no response yet', labels: {} },
  gateway_orders_in_doubt: {
    help: 'Orders that were sent and whose outcome is unknown, or that the platform did not confirm in every item',
    labels: {},
  },
  gateway_orders_in_doubt_oldest_seconds: { help: 'Age of the oldest order in doubt', labels: {} },
  gateway_orders_overdue_seconds: {
    help: 'How long the first scheduled order that was not sent is overdue; 0: none is',
    labels: {},
  },
  gateway_orders_accepted: {
    help: 'Orders that the platform accepted for later (syncMode async), and that nothing has shown as placed',
    labels: {},
  },
  gateway_orders_accepted_oldest_seconds: {
    help: 'Age of the oldest order that the platform accepted for later, and that nothing has shown as placed',
    labels: {},
  },
  gateway_estate_unread_enterprises: {
    help: 'Enterprises of the estate that could not be read for a day',
    labels: {},
  },
  gateway_estate_oldest_seconds: {
    help: 'Age of the oldest part of the estate',
    labels: {},
  },
  gateway_jobs: {
    help: 'Imports of all replicas that have not ended',
    labels: { state: words<'queued' | 'running'>() },
  },
  gateway_jobs_idle_seconds: {
    help: 'The longest time for which an unfinished import has made no progress, without waits for a maintenance or for its turn; 0 if there is none',
    labels: {},
  },
  gateway_webhooks: {
    help: 'Webhooks of all callers with webhooks:write; failing: the receiver accepts nothing; switched_off: by the gateway',
    labels: { state: words<'ok' | 'failing' | 'switched_off'>() },
  },
  gateway_order_records_unreadable: {
    help: 'Records of writes that could not be decrypted: sealed under a missing key, or damaged',
    labels: {},
  },
  gateway_database_stopped: {
    help: 'Why orders are refused: 1 for the current reason; none: orders are admitted; the runbook explains the others (DatabaseAway, DatabaseLost, DatabaseUnfit)',
    labels: { reason: words() },
  },
  gateway_database_weak: {
    help: '1 if a failover of the database may lose commits, because its standbys are not synchronous, else 0',
    labels: {},
  },
  gateway_budget_used_ratio: {
    help: 'Share of a budget of this month that the caller has used, from 0 to 1; a budget of 0 has no value',
    labels: { caller: words(), budget: words<'orders' | 'licences' | 'deletions'>() },
  },
  gateway_followed_file_refused: {
    help: 'Files that changed while the process ran, by the variable that names them; 1: the new content is refused, 0: it is in use',
    labels: { file: words() },
  },
  gateway_maintenance: {
    help: '1 while an operator has stopped orders, writes or all',
    labels: { stops: words<'orders' | 'writes' | 'all'>() },
  },
} as const satisfies Table;

/** Gauges that exist only once they are set. Without a configured Redis they do not exist, because a 0 would raise an alarm. */
export const GAUGES_OF_REDIS = {
  gateway_redis_up: {
    help: '1 if Redis can be used, else 0',
    labels: {},
  },
} as const satisfies Table;

export type Counters = typeof COUNTERS;
export type Gauges = typeof GAUGES & typeof GAUGES_OF_REDIS;
export type Labels = Readonly<Record<string, string>>;
export type LabelsOf<Metric extends Table[string]> = {
  readonly [Label in keyof Metric['labels']]: Metric['labels'][Label][number];
};
export type Sample<Name extends keyof Gauges> = readonly [labels: LabelsOf<Gauges[Name]>, value: number];

export type TokenEvent = LabelsOf<Counters['gateway_token_events_total']>['event'];
export type PrincipalKind = LabelsOf<Counters['gateway_token_events_total']>['principal'];
export type AttemptOutcome = LabelsOf<Counters['gateway_order_reconciliation_attempts_total']>['result'];
export type TlsServer = LabelsOf<Counters['gateway_tls_failures_total']>['server'];
export type CertificateName = LabelsOf<Gauges['gateway_certificate_expiry_timestamp_seconds']>['certificate'];
