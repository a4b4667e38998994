import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { JsonFault, parseJson } from '../shared/json.ts';
import { syntaxFault } from '../shared/json-syntax.ts';

const MAX_DEPTH = 16;

/**
 * A settings file cannot be used. The message names the location in the file and the rule, never a value. It is printed after the variable's
 * name. It does not name the path, because an operator may have put the content of the file in its place.
 */
export class SettingsFileError extends Error {
  override readonly name = 'SettingsFileError';

  constructor(fault: string) {
    super(`must be the path of a usable file: ${fault}`);
  }
}

/**
 * Reads a JSON file and checks it against a schema. Where the path of a fault does not tell an operator which entry it is in,
 * `nameOf` returns the entry's name from that path. Throws {@link SettingsFileError} with every fault.
 */
export function readSettingsFile<T>(
  path: string,
  schema: z.ZodType<T>,
  nameOf: (content: unknown, place: readonly PropertyKey[]) => string | undefined = () => undefined,
): T {
  const content = parsed(path);
  const result = schema.safeParse(content);
  if (result.success) return result.data;
  const faults = result.error.issues.map((issue) => {
    const name = nameOf(content, issue.path);
    // The message for a key is only that it is invalid. The rule is in the issues of the key.
    const rule = issue.code === 'invalid_key' ? issue.issues[0]?.message : undefined;
    return `${placeOf(issue.path)}${name === undefined ? '' : ` of "${name}"`}: ${rule ?? issue.message}`;
  });
  throw new SettingsFileError(faults.join('; '));
}

/** The path in JavaScript's notation: `callers[1].scopes[0]`. */
function placeOf(path: readonly PropertyKey[]): string {
  const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return place.replace(/^\./, '') || 'the whole file';
}

function parsed(path: string): unknown {
  const bytes = bytesOfFile(path);
  const text = bytes.toString().replace(/^\ufeff/, '');
  try {
    // `parseJson` refuses what `JSON.parse` accepts: a repeated key, another encoding.
    parseJson(bytes, { maxDepth: MAX_DEPTH });
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    if (error.kind === 'duplicate-key') throw new SettingsFileError(`${error.pointer} is there twice`);
    if (error.kind === 'encoding') throw new SettingsFileError('the file is not UTF-8 text');
    if (error.kind !== 'syntax')
      throw new SettingsFileError(`values are nested deeper than ${MAX_DEPTH} levels`);
    throw new SettingsFileError(`the file is no JSON: ${syntaxFault(text)}`);
  }
}

/** Throws {@link SettingsFileError} if the file cannot be read. */
export function bytesOfFile(path: string): Buffer {
  if (/^\s*[[{]/.test(path)) throw new SettingsFileError('the value is the content of a file, not its path');
  try {
    return readFileSync(path);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: `there is no such file (the working directory is ${process.cwd()})`,
      EISDIR: 'this is a folder, not a file',
      EACCES: 'this process may not read the file',
    };
    throw new SettingsFileError(reasons[code] ?? `the file cannot be read (${code})`);
  }
}
