import 'reflect-metadata';
import { createInterface } from 'node:readline/promises';
import { loadConfig } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { createLog } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { states } from '../order-ledger/ledger-record.ts';
import { redisErrorReason } from '../redis/redis-error.ts';
import { CONFIRMED, confirmEpoch } from './epoch.ts';
import { OrderStoreRedis } from './order-store-redis.ts';
import { readStoreState } from './settings.ts';

/**
 * `npm run order-store-init [-- --yes]`: an operator confirms that the gateway may trust the order store with its present content. It is part of
 * the build, so that the image has it too (`node dist/bundle/order-store-init.js`).
 */

const OPTION = '--yes';

class Refused extends Error {}

async function main(options: readonly string[]): Promise<void> {
  if (options.some((option) => option !== OPTION))
    throw new Refused(`usage: npm run order-store-init [-- ${OPTION}]`);
  const { orderStore } = loadConfig(process.env);
  if (!orderStore.url) throw new Refused('ORDER_REDIS_URL and REDIS_URL are empty: there is no order store');
  const redis = new OrderStoreRedis(orderStore, createLog('silent'), new Metrics());
  try {
    await redis.onModuleInit();
    if (redis.status !== 'up')
      throw new Refused(
        'The order store does not answer: see ORDER_REDIS_URL, its password, and the network',
      );
    await makeReady(redis, options.includes(OPTION));
  } finally {
    redis.onApplicationShutdown();
  }
}

async function makeReady(redis: OrderStoreRedis, confirmed: boolean): Promise<void> {
  const { keys } = redis;
  const { refuse, warn, weakened, isAlone } = await readStoreState(redis);
  if (refuse.length > 0) throw new Refused(`The order store ${refuse.join(', and ')}`);
  for (const fault of warn) say(`Warning: the order store ${fault}.`);

  const counts = await Promise.all(
    states.map(async (state) => {
      const count = await redis.run((client) => client.zcard(keys.ordersIn(state)));
      return [state, count] as const;
    }),
  );
  const there = counts.filter(([, count]) => count > 0);
  const [epoch, begun] = await redis.run((client) => client.mget(keys.epoch, keys.count));
  const lost = await redis.run((client) => client.hmget(keys.lost, 'seen', 'count'));
  const [seen = 0, found = 0] = lost.map(Number);
  const isDoubted = lost[0] !== null;
  say(
    there.length > 0
      ? `Orders in the order store: ${there.map(([state, count]) => `${count} ${state}`).join(', ')}. They stay as they are.`
      : 'The order store has no orders.',
  );
  if (isDoubted)
    say(
      `Gateways have seen ${seen} writes begin, orders and others, and the store knows of ${found}: ${Math.max(0, seen - found)} are missing.`,
    );
  if (isAlone)
    say(
      'The order store had replicas and has none. From now on orders are sent without one, until one connects.',
    );
  if (weakened) say(`The order store ${weakened}. From now on orders are sent with the log as it is.`);
  if (epoch?.startsWith(CONFIRMED) && !isDoubted && !isAlone && !weakened) {
    say('An operator has confirmed it before: nothing to do.');
    return;
  }
  if (epoch && !epoch.startsWith(CONFIRMED))
    say('A gateway made it ready at its start; gateways that know another store wait for you.');
  say(
    'From now on orders are sent again. One that was sent before and is not in this store is unknown to the gateway: a caller that repeats it places it a second time. Look such orders up at the platform first.',
  );
  if (!confirmed) await confirm();

  if (isAlone) await redis.run((client) => client.del(keys.replicas));
  if (weakened) await redis.run((client) => client.del(keys.durability));
  // The highest known count: every gateway counts on from it.
  await confirmEpoch(redis, Math.max(Number(begun), found, seen));
  say('Ready. Gateways that run take notice within 5 seconds.');
}

async function confirm(): Promise<void> {
  if (!process.stdin.isTTY) throw new Refused(`There is no terminal to confirm in: give ${OPTION}`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const typed = await terminal.question('Type "yes" to make it ready: ');
  terminal.close();
  if (typed.trim() !== 'yes') throw new Refused('Nothing was changed');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  await main(process.argv.slice(2));
  process.exit(0);
} catch (error) {
  const known = error instanceof Refused || error instanceof ConfigError;
  // Other messages may quote a command of Redis, and with it a password.
  process.stderr.write(`${known ? error.message : `The order store failed: ${redisErrorReason(error)}`}\n`);
  process.exit(1);
}
