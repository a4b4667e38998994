/** The emulated platform, with credentials made up for it. */
import { randomBytes } from 'node:crypto';
import { ControlError } from '../../sandbox/control/checks.ts';
import { readJsonFile } from '../../sandbox/json-file.ts';
import { checkedProfile, type Profile } from '../../sandbox/profile.ts';
import { type RunningSandbox, startSandbox } from '../../sandbox/server.ts';
import type { Arguments } from './arguments.ts';
import { faultOfListening, portRefusal } from './ports.ts';
import { Refusal } from './refusal.ts';
import type { Platform } from './setting.ts';

export interface RunningPlatform extends Platform {
  readonly sandbox: RunningSandbox;
  /** True if a member with this login name exists. */
  canLogIn(user: string): boolean;
}

export async function startPlatform(
  { host, sandboxPort: port, seed, state: file }: Arguments,
  profile: Partial<Profile>,
  given: unknown,
  clockMoved: (aheadMs: number) => Promise<void>,
): Promise<RunningPlatform> {
  const [appKey, appSecret, password] = [9, 24, 12].map((bytes) =>
    randomBytes(bytes).toString('base64url'),
  ) as [string, string, string];
  const state = file === undefined ? given : readJson('--state', file);
  const starting = startSandbox({
    ...{ appKey, appSecret, seedPassword: password, host, port, profile },
    ...(seed === undefined ? {} : { seed }),
    ...(state === undefined ? {} : { state }),
    clockMoved,
    log: (line) => process.stderr.write(`sandbox: ${line}\n`),
  });
  const sandbox = await named(file === undefined ? 'The state' : `--state ${file}`, () => starting).catch(
    (error: NodeJS.ErrnoException) => {
      throw error.syscall === 'listen'
        ? new Refusal(portRefusal('--sandbox-port', port, faultOfListening(error)))
        : error;
    },
  );
  const canLogIn = (user: string) => {
    const { employees } = JSON.parse(sandbox.control('GET', '/state').text) as {
      employees: { userName: string; deleted: boolean }[];
    };
    return employees.some(({ userName, deleted }) => userName === user && !deleted);
  };
  return { sandbox, url: onThisMachine(sandbox.url), appKey, appSecret, password, canLogIn };
}

/** Reads the readings of the profile. The file is the gateway's, or has the values alone. */
export function readProfile(file: string | undefined): Promise<Partial<Profile>> {
  return named(`--profile ${file}`, () =>
    file === undefined ? {} : checkedProfile(readJson('--profile', file), 'profile'),
  );
}

function readJson(option: string, file: string): unknown {
  try {
    return readJsonFile(file);
  } catch (error) {
    throw new Refusal(`${option} ${file} ${(error as Error).message}.`);
  }
}

/** Adds to a fault the document and the part of it that has the fault. */
async function named<T>(document: string, act: () => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof ControlError)) throw error;
    const pointer = pointerOf(error.field);
    throw new Refusal(
      `${document}${pointer && `: ${pointer}`} ${error.message.slice(error.field.length + 1)}.`,
    );
  }
}

/** Returns the JSON pointer of `state.assets[0].id`, whose first word is the whole document. */
function pointerOf(field: string): string {
  return field.replace(/^\w+/, '').replaceAll(/[.[]/g, '/').replaceAll(']', '');
}

/** Returns an address that a reader of the output can call, if the server listens on every address. */
function onThisMachine(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:');
}
