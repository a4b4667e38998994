import { Cluster, type Redis, type RedisCommander } from 'ioredis';
import { redisErrorReason, redisErrorWords } from './redis-error.ts';

/**
 * The rights that the gateway needs in Redis. The commands are written as they are tried, with KEY for a key. docs/operating.md, section 2,
 * grants them.
 */
export interface Rights {
  readonly commands: readonly string[];
  /** The beginnings of keys. The first one replaces KEY. */
  readonly prefixes: readonly string[];
}

export interface Refusals {
  /** The missing rights as access lists name them: `+hset`, `~prefix*`. */
  readonly missing: readonly string[];
  /** Commands that the server lacks, or has under another name. */
  readonly unknown: readonly string[];
  /** The server's words if it refuses writes for another reason: it is full, or is a replica. */
  readonly words?: string;
}

const UNKNOWN = /^ERR unknown (sub)?command/i;

const COMMON = [
  ...['ping', 'info', 'time', 'eval return 0', 'evalsha 0 0'],
  ...['get KEY', 'mget KEY', 'set KEY 0', 'del KEY', 'exists KEY', 'incr KEY', 'pttl KEY', 'pexpire KEY 1'],
  ...['hget KEY 0', 'hgetall KEY', 'hset KEY 0 0', 'hlen KEY'],
];
export function sharedRights(environment: string): Rights {
  return { commands: COMMON, prefixes: [`${environment}:`, `{${environment}`] };
}

/**
 * Checks the rights. It carries nothing out, because it only sends the commands between MULTI and DISCARD. Rejects while the server is
 * away.
 */
export async function refusalsOf(client: RedisCommander, { commands, prefixes }: Rights): Promise<Refusals> {
  // A single node sends no redirections, and every node has the same users.
  const node = client instanceof Cluster ? client.nodes('master')[0] : (client as Redis);
  if (!node) throw new Error('Connection is closed');
  const keys = prefixes.map((prefix) => `${prefix}rights`);
  const tried = [
    ...commands.map((command) => command.replaceAll('KEY', keys[0] as string)),
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
  const unknown = new Set<string>();
  let words: string | undefined;
  for (const [index, error] of errors.entries()) {
    // In a cluster, another node may have the key.
    if (!error || /^(MOVED|ASK) /.test(error.message)) continue;
    const command = commands[index] ?? '';
    const reason = redisErrorReason(error);
    if (reason === 'timeout' || reason === 'connection' || reason === 'loading') throw error;
    if (UNKNOWN.test(error.message)) unknown.add(nameOf(command));
    if (reason !== 'denied') words ??= redisErrorWords(error);
    else if (/ run | command/.test(error.message)) missing.add(`+${nameOf(command)}`);
    else missing.add(`~${prefixes.findLast((prefix) => command.includes(` ${prefix}rights`)) ?? ''}*`);
  }
  return { missing: [...missing], unknown: [...unknown], ...(words !== undefined && { words }) };
}

async function errorsOf(node: Redis, commands: readonly string[]): Promise<(Error | null)[]> {
  const pipeline = node.pipeline();
  for (const command of commands) {
    const [name = '', ...values] = command.split(' ');
    pipeline.call(name, ...values);
  }
  return ((await pipeline.exec()) ?? []).map(([error]) => error);
}

/** Returns the name in access lists: `client|setname` is a command of its own. */
function nameOf(command: string): string {
  const [name = '', second] = command.split(' ');
  return name === 'client' || name === 'memory' ? `${name}|${second}` : name;
}
