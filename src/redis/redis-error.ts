/** Why a command failed, for metrics, logs and the decision whether Redis is away. */
export type RedisErrorReason =
  'timeout' | 'connection' | 'oom' | 'readonly' | 'denied' | 'wrongtype' | 'loading' | 'other';

/** Reasons by the beginning of the server's reply (measured on Redis 7.0). A CROSSSLOT or a wrong command is `other`: a fault of the gateway. */
const ANSWERS: readonly (readonly [RegExp, RedisErrorReason])[] = [
  [/^OOM /, 'oom'],
  [/^READONLY /, 'readonly'],
  [/^(NOAUTH|WRONGPASS|NOPERM) /, 'denied'],
  [/^WRONGTYPE /, 'wrongtype'],
  [/^(LOADING|MASTERDOWN) /, 'loading'],
  // No node serves that key now, so the cluster counts as away.
  [/^(CLUSTERDOWN|MOVED|ASK|TRYAGAIN) |^ERR max number of clients/, 'connection'],
];

/** Messages of the client itself, which have no code. */
const CONNECTION =
  /^(Connection is closed|Stream isn't writeable|Reached the max retries|Too many Cluster|Cluster |None of startup|Failed to refresh|Command aborted|All sentinels)/;

export function redisErrorReason(error: unknown): RedisErrorReason {
  if (!(error instanceof Error)) return 'other';
  const { name, message } = error;
  if (name === 'ReplyError') return ANSWERS.find(([text]) => text.test(message))?.[1] ?? 'other';
  if (message === 'Command timed out') return 'timeout';
  return 'code' in error || CONNECTION.test(message) ? 'connection' : 'other';
}

/** For `catch` after a read. The gateway did not write a value of another type, so it counts as one that cannot be decrypted. */
export function emptyIfForeign(error: unknown): string {
  if (redisErrorReason(error) === 'wrongtype') return '';
  throw error;
}
