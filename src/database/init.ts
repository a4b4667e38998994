import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { type DatabaseConfig, loadConfig } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { engineOf } from './database.ts';
import { DatabaseFault, type Engine } from './engine.ts';
import { confirm, type Identity, identityIn, LOOK } from './identity.ts';
import { DatabaseSchema, SCHEMA_VERSION } from './schema.ts';
import { besideFile, highest, SeenMemory } from './seen-memory.ts';

/**
 * `npm run database-init [-- --yes]` makes the database ready. An operator also confirms with it that the gateway may trust the present
 * content of the database. It is part of the build, so that the image has it too (`node dist/bundle/database-init.js`).
 */

const OPTION = '--yes';

class Refused extends Error {}

async function main(options: readonly string[]): Promise<void> {
  if (options.some((option) => option !== OPTION))
    throw new Refused(`usage: npm run database-init [-- ${OPTION}]`);
  const { database } = loadConfig(process.env);
  if (database.address.kind === 'memory')
    throw new Refused(
      'DATABASE_URL is sqlite::memory:, which is forgotten with the process: there is nothing to make ready',
    );
  const engine = engineOf(database);
  try {
    await engine.open();
    await makeReady(engine, database, options.includes(OPTION));
  } finally {
    await engine.close();
  }
}

async function makeReady(
  engine: Engine,
  { address, platform }: DatabaseConfig,
  isConfirmed: boolean,
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
  const memory = address.kind === 'file' ? new SeenMemory(besideFile(address.path, platform)) : undefined;
  const seen = await memory?.share();
  const found = version === 0 ? undefined : identityIn(await engine.read(LOOK.with()));
  const numbers = highest(found?.numbers, highest(found?.lostSeen, seen?.numbers));
  // After a loss that is recorded the feed may have gone on.
  const known = found?.lostAt == null ? numbers : found.lostSeen;
  const missing = Object.entries(known)
    .map(([name, value]) => ({ name, value, had: found?.lostHad[name] ?? 0 }))
    .filter(({ value, had }) => value > had);
  const isDoubted =
    missing.length > 0 || (found?.lostAt ?? null) !== null || (seen && seen.identity !== found?.identity);

  if (version < SCHEMA_VERSION) {
    say(
      version === 0
        ? 'The database has no tables of the gateway.'
        : `The database has version ${version} of ${SCHEMA_VERSION}.`,
    );
    if (!isConfirmed && !isDoubted) await ask(`Type "yes" to make them: `);
    await schema.migrate();
    say(`The database has version ${SCHEMA_VERSION}.`);
  }
  if (found && !isDoubted) say('The gateway trusts it: nothing else to do.');
  else await trust(engine, found, numbers, missing, isConfirmed);
  const lacks = await schema.missingRights();
  if (lacks) say(`Warning: the database ${lacks}.`);
}

async function trust(
  engine: Engine,
  found: Identity | undefined,
  numbers: Readonly<Record<string, number>>,
  missing: readonly { readonly name: string; readonly value: number; readonly had: number }[],
  isConfirmed: boolean,
): Promise<void> {
  const WORDS: Readonly<Record<string, string>> = {
    begun: 'writes that began',
    feed: 'moves of orders and jobs',
  };
  for (const { name, value, had } of missing)
    say(
      `Gateways have seen ${value} ${WORDS[name] ?? name}, and the database knows of ${had}: ${value - had} are missing.`,
    );
  if (found?.lostAt) say(`A gateway noticed it at ${new Date(found.lostAt).toISOString()}.`);
  say(
    'From now on orders are sent. One that was sent before and is not in this database is unknown to the gateway: a caller that repeats it places it a second time. Look such orders up at the platform first. A scheduled order whose time has come may have been sent: it becomes an order in doubt.',
  );
  if (!isConfirmed) await ask('Type "yes" to make it ready: ');
  await confirm(engine, randomBytes(16).toString('base64url'), numbers);
  say('Ready. Gateways that run take notice within 5 seconds.');
}

async function ask(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Refused(`There is no terminal to confirm in: give ${OPTION}`);
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
  process.exit(1);
}
