import { types } from 'node:util';
import { cleanText } from '../shared/clean-text.ts';

/** Why a command failed, for metrics, logs and the decision whether Redis is away. */
export type RedisErrorReason =
  | 'timeout'
  | 'connection'
  | 'oom'
  | 'readonly'
  | 'denied'
  | 'wrongtype'
  | 'loading'
  | 'other';

/**
 * The replies with which Redis refuses a command that the user may not run. In a script, Redis 7.0 and later versions use different words.
 */
const NO_RIGHT = /^NOPERM |^ERR The user executing the script can't|ACL failure in script/;

/**
 * Reasons by the beginning of the server's reply (measured on Redis 7.0). A CROSSSLOT or a wrong command is `other`, because it is a fault
 * of the gateway.
 */
const REPLIES: readonly (readonly [RegExp, RedisErrorReason])[] = [
  [/^OOM /, 'oom'],
  [/^READONLY /, 'readonly'],
  [/^(NOAUTH|WRONGPASS|DENIED) /, 'denied'],
  [NO_RIGHT, 'denied'],
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
  if (name === 'ReplyError') return REPLIES.find(([text]) => text.test(message))?.[1] ?? 'other';
  if (message === 'Command timed out') return 'timeout';
  return 'code' in error || CONNECTION.test(message) ? 'connection' : 'other';
}

type ClientError = NodeJS.ErrnoException & { readonly lastNodeError?: unknown };

/**
 * Describes an error for a log line: the server's words, or why the connection failed. It leaves out the arguments that the server repeats
 * of an unknown command, because those of AUTH contain the password. For the network it returns only the code, because addresses differ
 * from attempt to attempt.
 */
export function redisErrorWords(error: unknown): string {
  if (!types.isNativeError(error)) return 'unknown';
  const { message, code, syscall, lastNodeError } = error as ClientError;
  if (types.isNativeError(lastNodeError)) return redisErrorWords(lastNodeError);
  if (code !== undefined && (syscall !== undefined || code.startsWith('ERR_SSL_'))) return code;
  const words = message
    .replace(/, with args beginning with.*/s, '')
    .replace(/ Retrying from scratch after [\d.]+ms\./, '');
  // The log masks secrets.
  return cleanText(code === undefined ? words : `${code}: ${words}`, (text) => text)
    .slice(0, 200)
    .toWellFormed();
}

/** True if the server refuses the connection, or if one side refuses the other's certificate. A network failure is no refusal. */
export function isRefusal(error: unknown): boolean {
  if (!types.isNativeError(error)) return false;
  const { name, code, syscall, lastNodeError } = error as ClientError;
  if (types.isNativeError(lastNodeError)) return isRefusal(lastNodeError);
  return name === 'ReplyError' || (code !== undefined && syscall === undefined);
}
