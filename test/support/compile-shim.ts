import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

/** Compiles a file of this folder into a library that a process can preload. Fails without a C compiler. */
export function compileShim(source: string, library: string): void {
  const options = ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', library];
  const { error, status, stderr } = spawnSync('gcc', [...options, resolve('test/support', source)], {
    encoding: 'utf8',
  });
  if (status === 0) return;
  throw new Error(
    error
      ? 'gcc is not on the PATH: install a C compiler (Debian and Ubuntu: apt-get install gcc libc6-dev)'
      : `gcc ended with ${status}: ${stderr}`,
  );
}
