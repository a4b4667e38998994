import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Returns the files that import a changed file. A changed file itself is left out. */
export function importersOf(changed: readonly string[], files: readonly string[]): string[] {
  const targets = new Set(changed);
  return files.filter((path) => {
    if (targets.has(path)) return false;
    const imports = readOrNothing(path).matchAll(/\b(?:from|import) ?\(?'(\.[^']+)'/g);
    return imports.some(([, name = '']) => targets.has(join(dirname(path), name)));
  });
}

/** Returns the text of a file, or nothing for a removed file, which Git still lists. */
function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
