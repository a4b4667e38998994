/**
 * Installs the tools that the tests need. The tests start their own servers of Redis and PostgreSQL, compile a small C file that steps the
 * clock of one, open the API page in a browser, run the code that it shows, run the programs of the documents, test the alert rules and put
 * proxies in front of the gateway. So they need `redis-server`, `postgres`, `pgbouncer`, `gcc`, `chromium-headless-shell`, `python3`,
 * `pytest`, `promtool`, `nginx`, `haproxy` and `apache2`. The script installs missing ones from Debian's packages if this process may do
 * so; otherwise it ends and names them. No test is skipped. `--long` also installs the tools that only the tests of `npm run test:long`
 * need.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, rmSync, writeFileSync } from 'node:fs';

interface Tool {
  readonly command: string;
  /** True for a tool that only tests of `npm run test:long` need. */
  readonly isLong?: true;
  /** The option that makes the command print its version, if it is not `--version`. */
  readonly version?: string;
  readonly packages: readonly string[];
  /** The tool to install on a system other than Debian. */
  readonly is: string;
}

const tools: readonly Tool[] = [
  { command: 'redis-server', packages: ['redis-server'], is: 'Redis 7' },
  { command: 'postgres', packages: ['postgresql'], is: 'PostgreSQL 14 or newer' },
  { command: 'pgbouncer', packages: ['pgbouncer'], is: 'PgBouncer' },
  // The headers of the C library are only recommended by gcc's own package.
  { command: 'gcc', packages: ['gcc', 'libc6-dev'], is: 'a C compiler under the name gcc' },
  { command: 'python3', packages: ['python3'], is: 'Python 3' },
  { command: 'pytest', packages: ['python3-pytest'], is: 'pytest' },
  // promtool tests the alert rules.
  { command: 'promtool', packages: ['prometheus'], is: "Prometheus' promtool" },
  {
    command: 'chromium-headless-shell',
    packages: ['chromium-headless-shell'],
    is: "Chromium's headless shell under the name chromium-headless-shell",
  },
  { command: 'nginx', version: '-v', packages: ['nginx'], is: 'nginx' },
  { command: 'haproxy', version: '-v', packages: ['haproxy'], is: 'HAProxy' },
  {
    command: 'apache2',
    version: '-v',
    packages: ['apache2-bin'],
    is: "Apache's server under the name apache2",
  },
  { command: 'javac', isLong: true, packages: ['default-jdk-headless'], is: 'a JDK, 11 or newer' },
  {
    // Debian's packages are for Debian's own Python.
    command: '/usr/bin/python3',
    isLong: true,
    version: '-cimport certifi, dateutil, six, urllib3; print("urllib3", urllib3.__version__)',
    packages: ['python3-certifi', 'python3-dateutil', 'python3-six', 'python3-urllib3'],
    is: 'certifi, python-dateutil, six and urllib3 for /usr/bin/python3',
  },
];
const wanted = tools.filter(({ isLong }) => !isLong || process.argv.includes('--long'));

/** The folders outside of the usual PATH where Debian puts programs. test/support/proxies.ts and postgres-keeper.ts look there too. */
const OTHER_FOLDERS = () => ['/usr/sbin', ...globSync('/usr/lib/postgresql/*/bin')];

// Debian asks this file before a package starts its service (policy-rc.d(8)). 101 forbids it.
const SERVICE_POLICY = '/usr/sbin/policy-rc.d';

const versions = new Map(wanted.map((tool) => [tool, versionOf(tool)]));
const absent = () => wanted.filter((tool) => versions.get(tool) === undefined);
if (absent().length > 0 && mayInstall()) {
  install(absent().flatMap(({ packages }) => packages));
  for (const tool of absent()) versions.set(tool, versionOf(tool));
}
if (absent().length > 0) {
  const names = absent().map(({ command }) => command);
  const what = absent().map(({ is }) => is);
  const packages = absent().flatMap((tool) => tool.packages);
  console.error(
    `Not on the PATH: ${names.join(' and ')}. Install ${what.join(' and ')} (Debian and Ubuntu: apt-get install ${packages.join(' ')})`,
  );
  process.exit(1);
}
for (const version of versions.values()) console.log(version);

function versionOf({ command, version = '--version' }: Tool): string | undefined {
  const { status, stdout, stderr } = spawnSync(command, [version], {
    encoding: 'utf8',
    env: { ...process.env, PATH: [process.env['PATH'], ...OTHER_FOLDERS()].join(':') },
  });
  return status === 0 ? `${stdout}${stderr}`.split('\n', 1)[0]?.trim() : undefined;
}

function mayInstall(): boolean {
  return process.getuid?.() === 0 && spawnSync('apt-get', ['--version']).status === 0;
}

function install(packages: readonly string[]): void {
  console.log(`Not on the PATH: installing Debian's ${packages.join(', ')} …`);
  const forbidsStart = !existsSync(SERVICE_POLICY);
  if (forbidsStart) writeFileSync(SERVICE_POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    // The tools themselves show whether the installation worked, because a broken package source must not matter if other sources work.
    for (const step of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
      spawnSync('apt-get', ['-qq', ...step], {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      });
    }
  } finally {
    if (forbidsStart) rmSync(SERVICE_POLICY);
  }
}
