import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';

/**
 * Runs the bundled program with the code that V8 compiled at the build, which takes a quarter of a start. The code has the functions that a
 * start runs, and Node's own compile cache only those that V8 compiles before it runs anything. V8 refuses code of another program, version
 * or option, and compiles anew.
 */
const url = new URL('program.js', import.meta.url);

/** The file of the compiled code for this V8 and its options. */
export const compiledFile = new URL(`program-${cachedDataVersionTag()}.compiled`, url);

export const script = new Script(readFileSync(url, 'utf8'), {
  filename: url.href,
  cachedData: compiledCode(),
});
const program = script.runInThisContext() as (require: NodeJS.Require, url: string) => void;
program(createRequire(url), url.href);

function compiledCode(): Buffer | undefined {
  try {
    return readFileSync(compiledFile);
  } catch {
    return undefined;
  }
}
