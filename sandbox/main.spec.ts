import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { secret } from './testing.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));
/** Keeps the compiled code of the first process for the others. */
const NODE_COMPILE_CACHE = 'node_modules/.cache/sandbox';

const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
let child: ChildProcess | null = null;
afterEach(() => {
  child?.kill('SIGKILL');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file with this content. */
function file(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

/** Starts the process. Returns it, its output so far, and its first line once it is printed. */
function start(variables: Record<string, string>): {
  output: () => string;
  firstLine: Promise<string>;
  exit: Promise<number>;
} {
  const running = spawn(process.execPath, [MAIN], {
    env: { NODE_COMPILE_CACHE, SANDBOX_PORT: '0', SANDBOX_APP_KEY: 'demo', ...variables },
  });
  child = running;
  let output = '';
  const firstLine = new Promise<string>((resolve) => {
    for (const stream of [running.stdout, running.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        output += text;
        if (output.includes('\n')) resolve(output.slice(0, output.indexOf('\n')));
      });
    }
  });
  const exit = once(running, 'close').then(([code]) => code as number);
  return { output: () => output, firstLine, exit };
}

describe('the sandbox process', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'prints its address, serves, and ends with 0 on %s; it prints the seed password only when told to',
    async (signal) => {
      const [appSecret, password] = [secret(), secret()];
      const isTold = signal === 'SIGINT';
      const { output, firstLine, exit } = start({
        SANDBOX_APP_SECRET_FILE: file('secret', `${appSecret}\n`),
        SANDBOX_ADMIN_PASSWORD: password,
        ...(isTold && { SANDBOX_PRINT_CREDENTIALS: '1' }),
      });
      const url = /at (http:\S+)/.exec(await firstLine)?.[1];
      const body = new URLSearchParams({
        grant_type: 'password',
        username: 'admin@harbour',
        password,
        client_id: 'demo',
        client_secret: appSecret,
      });
      const response = await fetch(`${url}/oauth/token`, { method: 'POST', body });
      expect(response.status).toBe(200);
      const { access_token: token } = (await response.json()) as { access_token: string };
      child?.kill(signal);
      expect(await exit).toBe(0);
      expect(output().includes(password)).toBe(isTold);
      for (const hidden of [appSecret, token]) expect(output()).not.toContain(hidden);
    },
  );

  it.each([
    ['SANDBOX_CONTROL', 'OFF', 'on or off'],
    ['SANDBOX_CONTROL', 'false', 'on or off'],
    ['SANDBOX_PRODUCTS', 'none', 'catalogue or any'],
    ['SANDBOX_TIMESTAMP_UNIT', 'min', 'ms or s'],
    ['SANDBOX_PRINT_CREDENTIALS', 'true', '1 or 0'],
  ])('P21 does not start with %s=%s', async (name, word, words) => {
    const { output, exit } = start({ SANDBOX_APP_SECRET: secret(), [name]: word });
    expect(await exit).toBe(1);
    expect(output()).toBe(`sandbox: ${name} must be ${words}\n`);
  });

  it('takes its data from a file in place of the seed', async () => {
    const enterprise = { globalId: 'ent-own', enterpriseId: '1', name: 'Own' };
    const SANDBOX_STATE_FILE = file('state.json', JSON.stringify({ enterprises: [enterprise] }));
    const { firstLine } = start({ SANDBOX_APP_SECRET: secret(), SANDBOX_STATE_FILE });
    const url = /at (http:\S+)/.exec(await firstLine)?.[1];
    const state = (await (await fetch(`${url}/__sandbox/state`)).json()) as { enterprises: unknown[] };
    expect(state.enterprises).toMatchObject([enterprise]);
  });

  const given = { SANDBOX_APP_SECRET: 'x' };
  it.each<[string, Record<string, string>]>([
    ['SANDBOX_APP_SECRET or SANDBOX_APP_SECRET_FILE is required', {}],
    [
      'SANDBOX_APP_SECRET_FILE names "/nowhere", which cannot be read (ENOENT)',
      { SANDBOX_APP_SECRET_FILE: '/nowhere' },
    ],
    ['SANDBOX_PORT must be an integer', { ...given, SANDBOX_PORT: 'http' }],
    [
      'SANDBOX_STATE_FILE names "/nowhere", which cannot be read (ENOENT)',
      { ...given, SANDBOX_STATE_FILE: '/nowhere' },
    ],
    [
      'wrong.json", which is not JSON',
      { ...given, SANDBOX_STATE_FILE: file('wrong.json', '{\n  "assets": [1,]\n}') },
    ],
    [
      'sandbox: SANDBOX_PROFILE.readings.pages is not a field; known: maxPageSize, largerPages,',
      {
        ...given,
        SANDBOX_PROFILE: file('profile.json', '{"version":1,"readings":{"pages":3},"notAsked":[]}'),
      },
    ],
    [
      'sandbox: SANDBOX_PROFILE.largerPages must be one of refuse, cut',
      { ...given, SANDBOX_PROFILE: file('values.json', '{"largerPages":"drop"}') },
    ],
    [
      'sandbox: SANDBOX_STATE_FILE: state.assets[0].id is required',
      { ...given, SANDBOX_STATE_FILE: file('lacks.json', '{ "assets": [{}] }') },
    ],
  ])('does not start, and says: %s', async (problem, variables) => {
    const { firstLine, exit } = start(variables);
    expect(await firstLine).toContain(problem);
    expect(await exit).toBe(1);
  });
});
