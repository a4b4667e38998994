import { readFileSync } from 'node:fs';
import { parseJson } from './json.ts';

/**
 * A file contains no JSON. The message is the end of a sentence about it, which quotes nothing of the file, because it may contain
 * passwords.
 */
export class JsonFileError extends Error {
  override readonly name = 'JsonFileError';
}

/** @throws JsonFileError */
export function readJsonFile(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw new JsonFileError(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return parseJson(text);
  } catch (error) {
    const place = /\(line \d+ column \d+\)/.exec((error as Error).message)?.[0] ?? '';
    throw new JsonFileError(`is not JSON ${place}`.trimEnd());
  }
}
