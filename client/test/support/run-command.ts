import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { keep } from '../../../test/support/canary.ts';

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs the built command (`npm run build:client`), as a shell would. */
export function runCommand(
  env: Readonly<Record<string, string>>,
  words: readonly string[],
  { input = '', cwd = '.' }: { input?: string; cwd?: string } = {},
): Promise<Ended> {
  return new Promise((done) => {
    const child = execFile(
      process.execPath,
      [resolve('client/dist/cli/main.js'), ...words],
      { env, cwd },
      (_, out, err) => {
        keep('command', out + err);
        done({ code: child.exitCode ?? -1, out, err });
      },
    );
    child.stdin?.on('error', () => undefined).end(input);
  });
}
