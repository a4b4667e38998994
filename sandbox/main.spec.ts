import { afterEach, describe, expect, it } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { secret } from './testing.ts';

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url));

let child: ChildProcess | null = null;
afterEach(() => {
  child?.kill('SIGKILL');
});

/** The process, its output so far, and its first line once it is printed. */
function start(variables: Record<string, string>): {
  output: () => string;
  firstLine: Promise<string>;
  exit: Promise<number>;
} {
  const running = spawn(process.execPath, [MAIN], { env: { SANDBOX_PORT: '0', ...variables } });
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
    'prints its address, serves, and ends with 0 on %s',
    async (signal) => {
      const appSecret = secret();
      const { output, firstLine, exit } = start({ SANDBOX_APP_KEY: 'demo', SANDBOX_APP_SECRET: appSecret });
      const url = /at (http:\S+)/.exec(await firstLine)?.[1];
      const body = new URLSearchParams({
        grant_type: 'client_credentials',
        scope: 'auth_order',
        client_id: 'demo',
        client_secret: appSecret,
      });
      const response = await fetch(`${url}/oauth/token`, { method: 'POST', body });
      expect(response.status).toBe(200);
      const { access_token: token } = (await response.json()) as { access_token: string };
      child?.kill(signal);
      expect(await exit).toBe(0);
      expect(output()).not.toContain(appSecret);
      expect(output()).not.toContain(token);
    },
  );

  it('reads secrets from files, and prints the seed password only when told to', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
    const file = join(folder, 'secret');
    const [appSecret, password] = [secret(), secret()];
    writeFileSync(file, `${appSecret}\n`);
    const variables = {
      SANDBOX_APP_KEY: 'demo',
      SANDBOX_APP_SECRET_FILE: file,
      SANDBOX_ADMIN_PASSWORD: password,
    };
    const { output, firstLine, exit } = start(variables);
    const url = /at (http:\S+)/.exec(await firstLine)?.[1];
    const body = new URLSearchParams({
      grant_type: 'password',
      username: 'admin@harbour',
      password,
      client_id: 'demo',
      client_secret: appSecret,
    });
    expect((await fetch(`${url}/oauth/token`, { method: 'POST', body })).status).toBe(200);
    child?.kill('SIGTERM');
    await exit;
    expect(output()).not.toContain(password);
    rmSync(folder, { recursive: true });
    const printing = start({
      ...variables,
      SANDBOX_APP_SECRET: appSecret,
      SANDBOX_APP_SECRET_FILE: '',
      SANDBOX_PRINT_CREDENTIALS: '1',
    });
    expect(await printing.firstLine).toContain('listening');
    child?.kill('SIGTERM');
    await printing.exit;
    expect(printing.output()).toContain(password);
  });

  it('takes its data from a file in place of the seed, and says what is wrong with the file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-'));
    const file = join(folder, 'state.json');
    const given = { SANDBOX_APP_KEY: 'demo', SANDBOX_APP_SECRET: secret(), SANDBOX_STATE_FILE: file };
    const said = async (text: string | null): Promise<string> => {
      if (text !== null) writeFileSync(file, text);
      const { firstLine, exit } = start(given);
      const line = await firstLine;
      if (!line.includes('listening')) expect(await exit).toBe(1);
      return line;
    };
    expect(await said(null)).toBe(
      `sandbox: SANDBOX_STATE_FILE names "${file}", which cannot be read (ENOENT)`,
    );
    expect(await said('{\n  "assets": [1,]\n}')).toMatch(/state\.json", which is not JSON/);
    expect(await said('{ "assets": [{}] }')).toBe(
      'sandbox: SANDBOX_STATE_FILE: state.assets[0].id is required',
    );
    const enterprise = { globalId: 'ent-own', enterpriseId: '1', name: 'Own' };
    const url = /at (http:\S+)/.exec(await said(JSON.stringify({ enterprises: [enterprise] })))?.[1];
    const state = (await (await fetch(`${url}/__sandbox/state`)).json()) as { enterprises: unknown[] };
    expect(state.enterprises).toMatchObject([enterprise]);
    rmSync(folder, { recursive: true });
  });

  it.each([
    [{ SANDBOX_APP_KEY: 'demo' }, 'SANDBOX_APP_SECRET or SANDBOX_APP_SECRET_FILE is required'],
    [
      { SANDBOX_APP_KEY: 'demo', SANDBOX_APP_SECRET: 'x', SANDBOX_PORT: 'http' },
      'SANDBOX_PORT must be an integer',
    ],
    [
      { SANDBOX_APP_KEY: 'demo', SANDBOX_APP_SECRET: 'x', SANDBOX_TIMESTAMP_UNIT: 'min' },
      'SANDBOX_TIMESTAMP_UNIT must be',
    ],
  ])('does not start with %j', async (variables, problem) => {
    const { firstLine, exit } = start(variables);
    expect(await firstLine).toContain(problem);
    expect(await exit).toBe(1);
  });
});
