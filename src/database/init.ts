import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { type AppConfig, loadConfig } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { environmentName } from '../redis/key-names.ts';
import { inTime, redisClient, serverOf } from '../redis/redis-client.ts';
import { edge } from '../shared/edge.ts';
import { engineOf } from './database.ts';
import { DatabaseFault, type Engine } from './engine.ts';
import {
  confirm,
  type Identity,
  identityIn,
  LOOK,
  lossIn,
  make,
  otherPlatforms,
  SKIPPED,
} from './identity.ts';
import { DatabaseSchema, SCHEMA_VERSION } from './schema.ts';
import { besideFile, highest, inRedis, type Seen, SeenMemory } from './seen-memory.ts';

/**
 * `npm run database-init [-- options]` makes the database ready. An operator also confirms with it that the gateway may trust the present
 * content of the database. It is part of the build, so that the image has it too (`node dist/bundle/database-init.js`).
 */

const USAGE = 'usage: npm run database-init [-- --yes | --restored [--yes] | --migrate]';
const CONFIRMS =
  'From now on orders are sent. One that was sent before and is not in this database is unknown to the gateway: a caller that repeats it places it a second time. Look such orders up at the platform first. A scheduled order whose time has come may have been sent: it becomes an order in doubt.';
/** Redis may have to be asked for its masters first. */
const RECALL_MS = 5_000;

class Refused extends Error {
  constructor(
    message: string,
    readonly code = 1,
  ) {
    super(message);
  }
}

interface Options {
  /** The operator is not asked. */
  readonly isConfirmed: boolean;
  /** The operator says that writes are missing, although nothing may show it. */
  readonly isRestored: boolean;
  /** No operator reads the output, so a loss is not confirmed. */
  readonly isUpdate: boolean;
}

function optionsIn(given: readonly string[]): Options {
  const options = new Set(given);
  const has = (option: string) => options.delete(option);
  const isUpdate = has('--migrate');
  const [isConfirmed, isRestored] = [has('--yes'), has('--restored')];
  if (options.size > 0 || (isUpdate && (isConfirmed || isRestored))) throw new Refused(USAGE);
  return { isConfirmed, isRestored, isUpdate };
}

async function main(given: readonly string[]): Promise<void> {
  const options = optionsIn(given);
  const config = loadConfig(process.env);
  const { database } = config;
  if (database.address.kind === 'memory')
    throw new Refused(
      'DATABASE_URL is sqlite::memory:, which is forgotten with the process: there is nothing to make ready',
    );
  const engine = engineOf(database);
  try {
    await engine.open();
    await makeReady(engine, database.platform, await seenBefore(config), options);
  } finally {
    await engine.close();
  }
}

/** Returns what gateways have seen of the database, as they keep it beside the file or in Redis. */
async function seenBefore({ database, redis }: AppConfig): Promise<Seen | undefined> {
  const { address, platform } = database;
  try {
    if (address.kind === 'file') return await new SeenMemory(besideFile(address.path, platform)).share();
    const server = serverOf(redis);
    if (!server) return undefined;
    const client = redisClient(server, [], RECALL_MS);
    client.on(
      'error',
      edge('redis', () => undefined),
    );
    try {
      await inTime(client.connect(), RECALL_MS);
      return await new SeenMemory(inRedis(environmentName(redis.platform), (run) => run(client))).share();
    } finally {
      client.disconnect();
    }
  } catch {
    const place = address.kind === 'file' ? 'the file beside it' : 'Redis (REDIS_URL)';
    say(
      `Warning: ${place} could not be read, which has what gateways have seen of the database. So nothing here shows whether writes are missing.`,
    );
    return undefined;
  }
}

async function makeReady(
  engine: Engine,
  platform: string,
  seen: Seen | undefined,
  { isConfirmed, isRestored, isUpdate }: Options,
): Promise<void> {
  const { unfit, weak } = await engine.fitness();
  if (unfit.length > 0) throw new Refused(`The database ${unfit.join(', and ')}`);
  for (const fault of weak) say(`Warning: the database ${fault}.`);

  const schema = new DatabaseSchema(engine);
  const version = await schema.version();
  if (version > SCHEMA_VERSION)
    throw new Refused(
      `The database has version ${version}, and this build knows ${SCHEMA_VERSION}: use the build that made it, or a newer one`,
    );
  const found = version === 0 ? undefined : identityIn(await engine.read(LOOK.with()));
  // Without a loss, an operator has confirmed the database after this was seen.
  const isLost = seen !== undefined && (!found || lossIn(found, seen) !== undefined);
  const numbers = highest(found?.numbers, highest(found?.lostSeen, seen?.numbers));
  // After a loss that is recorded the feed may have gone on.
  const known = found && found.lostAt !== null ? found.lostSeen : isLost ? numbers : {};
  const missing = Object.entries(known)
    .map(([name, value]) => ({ name, value, had: found?.lostHad[name] ?? 0 }))
    .filter(({ value, had }) => value > had);
  const isDoubted = isRestored || isLost || (found !== undefined && found.lostAt !== null);
  tell(found, missing);
  if (isDoubted && isUpdate)
    throw new Refused(
      'Nothing was changed: the database is not as gateways have seen it. An operator has to look at it, and to confirm it with `npm run database-init`',
      2,
    );

  const others = version > 0 && !found ? await otherPlatforms(engine) : '';
  if (others)
    say(
      `The database has records of ${others}, and none of ${platform}, the platform of UPSTREAM_BASE_URL. If that address is wrong, correct it.`,
    );
  if (others && isUpdate)
    throw new Refused(
      'Nothing was changed: the gateway would take a platform with a new address for another one, and know none of its orders. If two platforms share the database, an operator has to confirm it with `npm run database-init`',
      2,
    );

  if (version < SCHEMA_VERSION)
    say(
      version === 0
        ? 'The database has no tables of the gateway.'
        : `The database has version ${version} of ${SCHEMA_VERSION}.`,
    );
  const isTrusted = found !== undefined && !isDoubted;
  if (!isTrusted && !isUpdate) say(CONFIRMS);
  if (!isConfirmed && !isUpdate && (version < SCHEMA_VERSION || !isTrusted))
    await ask('Type "yes" to make it ready: ');
  if (version < SCHEMA_VERSION) {
    await schema.migrate();
    say(`The database has version ${SCHEMA_VERSION}.`);
  }
  const identity = randomBytes(16).toString('base64url');
  if (isTrusted) say('The gateway trusts it: nothing else to do.');
  else if (isUpdate) {
    // A gateway that has seen another database here goes on only after a confirmation.
    await make(engine, identity);
    say('Ready.');
  } else {
    const { feed = 0 } = numbers;
    // Readers may have had numbers of the feed that nothing remembers.
    await confirm(engine, {
      identity,
      confirmedAt: seen?.confirmedAt ?? 0,
      numbers: isRestored ? { ...numbers, feed: feed + SKIPPED } : numbers,
    });
    say('Ready. Gateways that run take notice within 5 seconds.');
  }
  const lacks = await schema.missingRights();
  if (lacks) say(`Warning: the database ${lacks}.`);
}

function tell(
  found: Identity | undefined,
  missing: readonly { readonly name: string; readonly value: number; readonly had: number }[],
): void {
  const WORDS: Readonly<Record<string, string>> = {
    begun: 'writes that began',
    feed: 'moves of orders and jobs',
  };
  for (const { name, value, had } of missing)
    say(
      `Gateways have seen ${value} ${WORDS[name] ?? name}, and the database knows of ${had}: ${value - had} are missing.`,
    );
  if (found?.lostAt) say(`A gateway noticed it at ${new Date(found.lostAt).toISOString()}.`);
}

async function ask(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Refused(`There is no terminal to confirm in: give --yes`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const typed = await terminal.question(question);
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
  const isKnown = error instanceof Refused || error instanceof ConfigError;
  // Other messages may quote a value.
  const words = error instanceof DatabaseFault ? error.message : 'an unexpected fault';
  process.stderr.write(`${isKnown ? error.message : `The database failed: ${words}`}\n`);
  process.exit(error instanceof Refused ? error.code : 1);
}
