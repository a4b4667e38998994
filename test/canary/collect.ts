import type { ChildProcess } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { basename } from 'node:path';
import { afterAll } from '@jest/globals';
import { keepRead } from '../support/canary.ts';

/** Runs before each test file: keeps the output of the processes that it starts for the scan. */

let count = 0;
function listen(message: unknown): void {
  const { process: child } = message as { process: ChildProcess };
  child.once('spawn', () => {
    const name = `${basename(child.spawnfile)}-${++count}`;
    if (child.stdout) keepRead(`stdout-of-${name}`, child.stdout);
    if (child.stderr) keepRead(`stderr-of-${name}`, child.stderr);
  });
}

subscribe('child_process', listen);
// The channel belongs to the process, which runs other test files after this one.
afterAll(() => {
  unsubscribe('child_process', listen);
});
