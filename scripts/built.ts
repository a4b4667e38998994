/**
 * Tells whether `dist` was built from the current sources. The mark is in `dist`, which every build empties first. As a program it succeeds
 * if there is nothing to build.
 */
import { createHash } from 'node:crypto';
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const SOURCES = [
  'src/**',
  'scripts/{bundle,bundle-options,function-names,own-map,sbom}.ts',
  ...['package.json', 'package-lock.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json'],
];
const MARK = 'dist/.built-from';

export function isBuilt(root: string): boolean {
  try {
    return readFileSync(join(root, MARK), 'utf8') === digestOf(root);
  } catch {
    return false;
  }
}

export function markBuilt(root: string): void {
  writeFileSync(join(root, MARK), digestOf(root));
}

/** Returns a hash of names and contents, because file times mean little after a checkout. */
function digestOf(root: string): string {
  const digest = createHash('sha256');
  for (const path of globSync(SOURCES, { cwd: root }).sort()) {
    if (!statSync(join(root, path)).isFile()) continue;
    digest.update(`${path}\0`).update(
      createHash('sha256')
        .update(readFileSync(join(root, path)))
        .digest(),
    );
  }
  return digest.digest('hex');
}

if (import.meta.main) process.exitCode = isBuilt('.') ? 0 : 1;
