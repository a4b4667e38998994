/**
 * Starts the bundled program with the code that V8 compiled for an earlier start, where Node keeps such code (`NODE_COMPILE_CACHE`). Node
 * itself keeps the code of a file as it was before the file ran. V8 compiles most functions when they are first called, so each start would
 * compile thousands of them again, which takes a fifth of it.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire, getCompileCacheDir } from 'node:module';
import { Script } from 'node:vm';
import { crc32 } from 'node:zlib';

type Program = (require: NodeJS.Require, url: string) => void;

const program = new URL('program.js', import.meta.url);
const source = readFileSync(program, 'latin1');
// The folder belongs to one version of Node, one user and one set of V8's options. V8 compares nothing of a source but its length.
const folder = getCompileCacheDir();
const kept = `${folder}/program-${crc32(source).toString(16)}`;
const script = new Script(source, { filename: program.href, cachedData: folder ? read(kept) : undefined });
(script.runInThisContext() as Program)(createRequire(import.meta.url), import.meta.url);
// A start without settings is enough for it: the program ends in a later turn.
if (folder && script.cachedDataRejected !== false) keep(kept);

function read(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function keep(path: string): void {
  const own = `${path}.${process.pid}`;
  try {
    writeFileSync(own, script.createCachedData());
    renameSync(own, path);
  } catch {
    // The folder cannot be written, so the next start compiles the program again.
  }
}
