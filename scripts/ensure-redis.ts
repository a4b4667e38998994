/**
 * Before the tests: they start Redis servers of their own, so `redis-server` has to be there. Where it is not, Debian's
 * package is installed if this process may do so; else this ends with what to install. Nothing is skipped.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';

// Debian asks this file before a package starts its service (policy-rc.d(8)); 101 forbids it.
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

if (redisVersion() === undefined && mayInstall()) install();
const version = redisVersion();
if (version === undefined) {
  console.error(
    'redis-server is not on the PATH: install Redis 7 (Debian and Ubuntu: apt-get install redis-server)',
  );
  process.exit(1);
}
console.log(version);

function redisVersion(): string | undefined {
  const { status, stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

function mayInstall(): boolean {
  return process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0;
}

function install(): void {
  console.log("redis-server is not on the PATH: installing Debian's package …");
  const forbidsStart = !existsSync(SERVICE_POLICY);
  if (forbidsStart) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    // Whether it worked is asked of redis-server itself: a broken package source must not matter where others do.
    for (const step of [['update'], ['install', '-y', '--no-install-recommends', 'redis-server']]) {
      spawnSync('apt-get', ['-qq', ...step], {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      });
    }
  } finally {
    if (forbidsStart) rmSync(SERVICE_POLICY);
  }
}
