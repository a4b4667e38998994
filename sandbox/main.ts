/** Runs a sandbox from the environment; README.md lists the variables. */
import { readFileSync } from 'node:fs';
import { ControlError } from './control/checks.ts';
import { JsonFileError, readJsonFile } from './json-file.ts';
import type { Companies, TlsOptions } from './options.ts';
import { checkedProfile, type Profile } from './profile.ts';
import { startSandbox } from './server.ts';

/** Returns the variable, or the content of the file that `<name>_FILE` names. Undefined if neither is set. */
function read(name: string): string | undefined {
  const file = process.env[`${name}_FILE`];
  const value = file === undefined || file === '' ? process.env[name] : textOf(`${name}_FILE`, file);
  return value?.trimEnd() || undefined;
}

function textOf(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return fail(`${variable} names "${file}", which cannot be read (${code})`);
  }
}

function required(name: string): string {
  const value = read(name);
  if (value === undefined) fail(`${name} or ${name}_FILE is required`);
  return value;
}

function integer(name: string, least: number, most: number): number | undefined {
  const text = read(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < least || value > most) {
    fail(`${name} must be an integer from ${least} to ${most}`);
  }
  return value;
}

/** Returns one of these words, or undefined if the variable is not set. Any other word is refused. */
function word<const T extends string>(name: string, ...words: readonly T[]): T | undefined {
  const text = read(name);
  const known = words.find((each) => each === text);
  if (text !== undefined && known === undefined) fail(`${name} must be ${words.join(' or ')}`);
  return known;
}

function fail(problem: string): never {
  process.stderr.write(`sandbox: ${problem}\n`);
  process.exit(1);
}

/** Returns the JSON of the file that the variable names, or undefined if it names none. */
function jsonOf(variable: string): unknown {
  const file = process.env[variable];
  if (file === undefined || file === '') return undefined;
  try {
    return readJsonFile(file);
  } catch (error) {
    if (error instanceof JsonFileError) return fail(`${variable} names "${file}", which ${error.message}`);
    throw error;
  }
}

/** Returns the readings of the profile, and those that have variables of their own. */
function profileOf(): Partial<Profile> {
  const unit = word('SANDBOX_TIMESTAMP_UNIT', 'ms', 's');
  const products = word('SANDBOX_PRODUCTS', 'catalogue', 'any');
  try {
    return {
      ...checkedProfile(jsonOf('SANDBOX_PROFILE') ?? {}, 'SANDBOX_PROFILE'),
      ...(unit === undefined ? {} : { timestampUnit: unit }),
      ...(products === undefined ? {} : { products }),
    };
  } catch (error) {
    if (error instanceof ControlError) return fail(error.message);
    throw error;
  }
}

function tlsOf(): TlsOptions | undefined {
  const [cert, key, clientCa] = ['CERT', 'KEY', 'CLIENT_CA'].map((name) => read(`SANDBOX_TLS_${name}`));
  if (cert && key && clientCa) return { cert, key, clientCa };
  if (cert ?? key ?? clientCa)
    fail('SANDBOX_TLS_CERT, SANDBOX_TLS_KEY and SANDBOX_TLS_CLIENT_CA must be set together');
  return undefined;
}

const MAX_OF_EACH = 10_000;
/** `300x200x3`: so many companies, assets of each, and products on each asset. */
function companiesOf(): Companies | undefined {
  const text = read('SANDBOX_COMPANIES');
  if (text === undefined) return undefined;
  const [enterprises = 0, assets = 0, products = 0, ...more] = text.split('x').map(Number);
  const counts = [enterprises, assets, products];
  if (more.length > 0 || !counts.every((each) => Number.isInteger(each) && each > 0 && each <= MAX_OF_EACH))
    return fail('SANDBOX_COMPANIES must be three numbers from 1 to 10000, such as 300x200x3');
  return { enterprises, assets, products };
}

const tls = tlsOf();
const companies = companiesOf();
const state = jsonOf('SANDBOX_STATE_FILE');
const seedPassword = read('SANDBOX_ADMIN_PASSWORD');
const isPrinted = word('SANDBOX_PRINT_CREDENTIALS', '1', '0') === '1';
const host = read('SANDBOX_HOST');
const lifetime = integer('SANDBOX_TOKEN_LIFETIME_SECONDS', 1, 31_536_000);
const asyncOrderMs = integer('SANDBOX_ASYNC_ORDER_MS', 0, 86_400_000);
const seed = integer('SANDBOX_SEED', 0, 2 ** 32 - 1);

const sandbox = await startSandbox({
  appKey: required('SANDBOX_APP_KEY'),
  appSecret: required('SANDBOX_APP_SECRET'),
  port: integer('SANDBOX_PORT', 0, 65_535) ?? 4000,
  profile: profileOf(),
  controlEnabled: word('SANDBOX_CONTROL', 'on', 'off') !== 'off',
  log: (line) => process.stderr.write(`sandbox: ${line}\n`),
  ...(host === undefined ? {} : { host }),
  ...(tls === undefined ? {} : { tls }),
  ...(seedPassword === undefined ? {} : { seedPassword }),
  ...(lifetime === undefined ? {} : { tokenLifetimeSeconds: lifetime }),
  ...(asyncOrderMs === undefined ? {} : { asyncOrderMs }),
  ...(seed === undefined ? {} : { seed }),
  ...(state === undefined ? {} : { state }),
  ...(companies === undefined ? {} : { companies }),
}).catch((error: NodeJS.ErrnoException) =>
  fail(
    error instanceof ControlError
      ? `SANDBOX_STATE_FILE: ${error.message}`
      : `cannot listen: ${error.code ?? error.name}`,
  ),
);

// The handlers are set before the address is printed, because a reader of the address may send a signal at once.
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void sandbox.close().then(() => process.exit(0)));
}

process.stdout.write(`sandbox listening at ${sandbox.url} (seed ${sandbox.seed})\n`);
if (isPrinted) {
  process.stdout.write(`seeded users, such as admin@harbour, log in with ${sandbox.seedPassword}\n`);
}
