import { Cluster, type Redis, type RedisCommander } from 'ioredis';
import { redisErrorReason, redisErrorWords } from './redis-error.ts';

/** The commands that the gateway needs in Redis, as they are tried, with KEY for a key. docs/operating.md, section 2, grants them. */
export const COMMANDS: readonly string[] = [
  ...['ping', 'info', 'time', 'eval return 0', 'evalsha 0 0'],
  ...['get KEY', 'mget KEY', 'set KEY 0', 'del KEY', 'exists KEY', 'pttl KEY', 'pexpire KEY 1'],
  ...['hget KEY 0', 'hgetall KEY', 'hset KEY 0 0', 'hlen KEY'],
];

export interface Refusals {
  /** The missing rights as access lists name them: `+hset`, `~prefix*`. */
  readonly missing: readonly string[];
  /** The server's words if it refuses writes for another reason: it is full, or is a replica. */
  readonly words?: string;
}

/** Returns the beginnings of all keys of an environment. */
export function prefixesOf(environment: string): readonly string[] {
  return [`${environment}:`, `{${environment}`];
}

/**
 * Checks the rights. It carries nothing out, because it only sends the commands between MULTI and DISCARD. Rejects while the server is
 * away.
 */
export async function refusalsOf(client: RedisCommander, environment: string): Promise<Refusals> {
  // A single node sends no redirections, and every node has the same users.
  const node = client instanceof Cluster ? client.nodes('master')[0] : (client as Redis);
  if (!node) throw new Error('Connection is closed');
  const prefixes = prefixesOf(environment);
  const keys = prefixes.map((prefix) => `${prefix}rights`);
  const tried = [
    ...COMMANDS.map((command) => command.replaceAll('KEY', keys[0] as string)),
    ...keys.slice(1).map((key) => `get ${key}`),
  ];
  const frame = ['multi', 'discard'];
  const ofFrame = await errorsOf(node, frame);
  // Without MULTI the commands would be carried out.
  if (ofFrame.some((error) => error)) return sorted(frame, ofFrame, prefixes);
  const errors = await errorsOf(node, ['multi', ...tried, 'discard']);
  return sorted(tried, errors.slice(1, -1), prefixes);
}

function sorted(
  commands: readonly string[],
  errors: readonly (Error | null)[],
  prefixes: readonly string[],
): Refusals {
  const missing = new Set<string>();
  let words: string | undefined;
  for (const [index, error] of errors.entries()) {
    // In a cluster, another node may have the key.
    if (!error || /^(MOVED|ASK) /.test(error.message)) continue;
    const command = commands[index] ?? '';
    const reason = redisErrorReason(error);
    if (reason === 'timeout' || reason === 'connection' || reason === 'loading') throw error;
    if (reason !== 'denied') words ??= redisErrorWords(error);
    else if (/ run | command/.test(error.message)) missing.add(`+${command.split(' ')[0]}`);
    else missing.add(`~${prefixes.findLast((prefix) => command.includes(` ${prefix}rights`)) ?? ''}*`);
  }
  return { missing: [...missing], ...(words !== undefined && { words }) };
}

async function errorsOf(node: Redis, commands: readonly string[]): Promise<(Error | null)[]> {
  const pipeline = node.pipeline();
  for (const command of commands) {
    const [name = '', ...values] = command.split(' ');
    pipeline.call(name, ...values);
  }
  return ((await pipeline.exec()) ?? []).map(([error]) => error);
}
