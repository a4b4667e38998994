/**
 * `npm run release -- <version>` sets the version of the gateway and its packages, dates the changelog, generates the files that contain
 * the version, commits, and tags. It refuses a work tree that is not clean, a version that is not newer, a changelog without a section for
 * it, and a document that breaks callers of the last release without a new major version (before 1.0: without a new minor one, SemVer
 * 2.0.0, 4). It pushes nothing.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { breakingChanges } from './api-changes.ts';

const DOCUMENT = 'config/openapi.json';
const CHANGELOG = 'CHANGELOG.md';
const LOCK = 'package-lock.json';
const NEXT = '## Next';
const DOCKERFILE = 'Dockerfile';
const LABEL = /^ARG VERSION=.*$/m;
/** The version of a package, and of another package of ours that it needs. */
const OWN_VERSIONS = /^(\s*"(?:version|@licensing-gateway\/[a-z-]+)": )"\d[^"]*"/gm;
const USAGE = 'usage: npm run release -- <version>   (such as 0.2.0)';

type Needs = Record<string, string>;
interface Manifest {
  version: string;
  dependencies?: Needs;
  devDependencies?: Needs;
  peerDependencies?: Needs;
}
type Version = readonly [number, number, number];

const git = (...args: readonly string[]): string => execFileSync('git', args, { encoding: 'utf8' }).trim();

const text = process.argv[2] ?? '';
const version = versionOf(text) ?? refuse(USAGE);
if (git('status', '--porcelain') !== '') refuse('The work tree has changes that are not committed.');
const root = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string; workspaces: string[] };
const places = ['', ...root.workspaces];
const current = versionOf(root.version) as Version;
if (!isNewer(version, current)) refuse(`${text} is not newer than ${current.join('.')}.`);
const changelog = readFileSync(CHANGELOG, 'utf8');
if (!changelog.includes(`${NEXT}\n`)) refuse(`${CHANGELOG} has no section "${NEXT}".`);

const [last] = git('tag', '--list', 'v*', '--sort=-version:refname').split('\n');
if (last) {
  const breaking = breakingChanges(
    JSON.parse(git('show', `${last}:${DOCUMENT}`)) as Record<string, unknown>,
    JSON.parse(readFileSync(DOCUMENT, 'utf8')) as Record<string, unknown>,
  );
  if (breaking.length > 0 && !mayBreak(current, version))
    refuse(
      `${text} would break callers of ${last}:\n  ${breaking.join('\n  ')}\nIt needs a new ${current[0] > 0 ? 'major' : 'minor'} version.`,
    );
}

for (const place of places) change(join(place, 'package.json'), OWN_VERSIONS, `$1"${text}"`);
change(DOCKERFILE, LABEL, `ARG VERSION=${text}`);
setLocked();
writeFileSync(
  CHANGELOG,
  changelog.replace(`${NEXT}\n`, `## ${text} (${new Date().toISOString().slice(0, 10)})\n`),
);
run('npm', 'run', '-s', 'generate');
run('git', 'commit', '--quiet', '--all', '--message', `Release ${text}`);
run('git', 'tag', '--annotate', `v${text}`, '--message', `Release ${text}`);
console.log(
  `v${text} is committed and tagged. To publish: git push --follow-tags, then the image and the packages are built from the tag.`,
);

function change(path: string, what: RegExp, into: string): void {
  writeFileSync(path, readFileSync(path, 'utf8').replace(what, into));
}

/** Updates the parts of the lock file that repeat our own manifests, as `npm install` would. */
function setLocked(): void {
  const lock = JSON.parse(readFileSync(LOCK, 'utf8')) as {
    version: string;
    packages: Record<string, Manifest>;
  };
  lock.version = text;
  for (const place of places) {
    const own = lock.packages[place] ?? refuse(`${LOCK} lacks ${place}`);
    own.version = text;
    for (const needs of [own.dependencies, own.devDependencies, own.peerDependencies])
      for (const name of Object.keys(needs ?? {}))
        if (needs && name.startsWith('@licensing-gateway/')) needs[name] = text;
  }
  writeFileSync(LOCK, `${JSON.stringify(lock, undefined, 2)}\n`);
}

function versionOf(from: string): Version | undefined {
  const match = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(from);
  return match ? [Number(match[1]), Number(match[2]), Number(match[3])] : undefined;
}

function isNewer(one: Version, other: Version): boolean {
  const at = one.findIndex((part, index) => part !== other[index]);
  return at >= 0 && (one[at] ?? 0) > (other[at] ?? 0);
}

function mayBreak([major, minor]: Version, [nextMajor, nextMinor]: Version): boolean {
  return nextMajor > major || (major === 0 && nextMinor > minor);
}

function run(command: string, ...args: readonly string[]): void {
  const { status } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0)
    refuse(`${command} ${args.join(' ')} failed. "git checkout ." takes back what was written.`);
}

function refuse(why: string): never {
  console.error(why);
  process.exit(1);
}
