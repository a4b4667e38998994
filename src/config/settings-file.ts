import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { JsonFault, parseJson } from '../shared/json.ts';

const MAX_DEPTH = 16;

/**
 * A settings file cannot be used. The message names the file, the location in it and the rule, never a value. It is printed after
 * the variable's name.
 */
export class SettingsFileError extends Error {
  override readonly name = 'SettingsFileError';

  constructor(path: string, fault: string, place = '') {
    super(`names "${path}"${place}: ${fault}`);
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
    return `${placeOf(issue.path)}${name === undefined ? '' : ` of "${name}"`}: ${issue.message}`;
  });
  throw new SettingsFileError(path, faults.join('; '));
}

/** The path in JavaScript's notation: `callers[1].scopes[0]`. */
function placeOf(path: readonly PropertyKey[]): string {
  const place = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('');
  return place.replace(/^\./, '') || 'the whole file';
}

function parsed(path: string): unknown {
  const bytes = read(path);
  const text = bytes.toString().replace(/^\ufeff/, '');
  try {
    // Finds what JSON.parse accepts: a repeated key, another encoding.
    parseJson(bytes, { maxDepth: MAX_DEPTH });
    return JSON.parse(text);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    if (error.kind === 'duplicate-key') throw new SettingsFileError(path, `${error.pointer} is there twice`);
    if (error.kind === 'encoding') throw new SettingsFileError(path, 'the file is not UTF-8 text');
    if (error.kind !== 'syntax')
      throw new SettingsFileError(path, `values are nested deeper than ${MAX_DEPTH} levels`);
    const { at, expected } = syntaxFault(text);
    const before = text.slice(0, at).split('\n');
    const place = `, line ${before.length}, column ${[...(before.at(-1) ?? '')].length + 1}`;
    throw new SettingsFileError(path, `the file is no JSON: ${expected} is expected here`, place);
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: `there is no such file (the working directory is ${process.cwd()})`,
      EISDIR: 'this is a folder, not a file',
      EACCES: 'this process may not read the file',
    };
    throw new SettingsFileError(path, reasons[code] ?? `the file cannot be read (${code})`);
  }
}

const TOKEN =
  /[{}[\],:]|"(?:[ !#-[\]-\u{10ffff}]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.])/uy;
const SPACE = /[ \t\r\n]*/y;

type Expected =
  | 'a value'
  | 'a value or ]'
  | 'a key'
  | 'a key or }'
  | '":"'
  | '"," or }'
  | '"," or ]'
  | 'the end of the file';

/**
 * The position of the first syntax error and what is expected there. Messages of `JSON.parse` quote the text, and not all of them
 * name the position.
 */
function syntaxFault(text: string): { at: number; expected: Expected } {
  const open: string[] = [];
  let expected: Expected = 'a value';
  for (let at = 0; ;) {
    SPACE.lastIndex = at;
    at += SPACE.exec(text)?.[0].length ?? 0;
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(text)?.[0];
    const next: Expected | undefined = token === undefined ? undefined : after(expected, token, open);
    if (token === undefined || next === undefined) return { at, expected };
    expected = next;
    at += token.length;
  }
}

/** What may follow the token. Undefined where the token itself is not allowed. */
function after(expected: Expected, token: string, open: string[]): Expected | undefined {
  const [first = ''] = token;
  const inside = (): Expected => {
    const container = open.at(-1);
    if (container === undefined) return 'the end of the file';
    return container === '{' ? '"," or }' : '"," or ]';
  };
  if ((token === '}' && expected.endsWith('}')) || (token === ']' && expected.endsWith(']'))) {
    open.pop();
    return inside();
  }
  if (expected === '":"') return token === ':' ? 'a value' : undefined;
  if (expected.startsWith('a key')) return first === '"' ? '":"' : undefined;
  if (expected.startsWith('","')) {
    if (token !== ',') return undefined;
    return open.at(-1) === '{' ? 'a key' : 'a value';
  }
  if (!expected.startsWith('a value') || '}],:'.includes(first)) return undefined;
  if (token === '{' || token === '[') {
    open.push(token);
    return token === '{' ? 'a key or }' : 'a value or ]';
  }
  return inside();
}
