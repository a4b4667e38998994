import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { meant, UsageError } from './command.ts';

/** A gateway, and the credentials for it. */
interface Profile {
  /** The source of the profile, for messages. */
  readonly from: string;
  readonly url: string;
  readonly apiKey: string;
  readonly as: string | undefined;
}

const FIELDS = ['url', 'apiKey', 'as'];
/** The mode bits that let other users read, write or run a file. */
const OTHERS = 0o077;

/** Returns the profile with this name from the file of profiles. The file holds keys, so only its owner may read it. */
export function profileOf(name: string): Profile {
  const { env } = process;
  const path =
    env['LICENSING_PROFILES'] ??
    join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'licensing', 'profiles.json');
  const profiles = objectIn(path, parsed(path));
  const names = Object.keys(profiles);
  if (!Object.hasOwn(profiles, name))
    throw new UsageError(
      `${path} has no profile ${name}${meant(name, names) || `; it has ${names.join(', ') || 'none'}`}`,
    );
  const from = `Profile ${name} in ${path}`;
  const { url, apiKey, as, ...further } = objectIn(from, profiles[name]);
  const [unknown] = Object.keys(further);
  if (unknown !== undefined)
    throw new UsageError(`${from} has the field ${unknown}; a profile has ${FIELDS.join(', ')}`);
  const textOf = (field: string, value: unknown): string => {
    if (typeof value === 'string' && value !== '') return value;
    throw new UsageError(`${from}: ${field} has to be a text`);
  };
  const profile = { from, url: textOf('url', url), apiKey: textOf('apiKey', apiKey) };
  // The message leaves out the value, because a key may be there by mistake.
  if (!isHttpUrl(profile.url)) throw new UsageError(`${from}: url has to be an http or https URL`);
  return { ...profile, as: as === undefined ? undefined : textOf('as', as) };
}

export function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function parsed(path: string): unknown {
  const text = privateText(path);
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's own message quotes the file, and with it a key.
    throw new UsageError(`${path} is not JSON`);
  }
}

function objectIn(from: string, value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new UsageError(`${from} has to be a JSON object`);
}

/** Checks the rights of the file that it reads, and not of another file that was there before. */
function privateText(path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { mode } = fstatSync(file);
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw new UsageError(
        `Permissions 0${(mode & 0o777).toString(8)} of ${path} are too open: it holds keys, so only you may read it. Run chmod 600 ${path}`,
      );
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    // The variable may have the profiles themselves by mistake, and with them a key.
    const name = path === process.env['LICENSING_PROFILES'] ? 'LICENSING_PROFILES' : path;
    throw new UsageError(`${name} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
