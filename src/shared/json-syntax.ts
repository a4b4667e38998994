const [QUOTE, BACKSLASH, SPACE] = [0x22, 0x5c, 0x20];
const WHITE = /[ \t\n\r]*/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/**
 * Describes where a text stops being JSON (RFC 8259), and what is expected there. Returns undefined for JSON. The description never repeats
 * the text, which may contain a password. The caller has limited the depth of the text.
 */
export function syntaxFault(text: string): string | undefined {
  const reader = new Reader(text);
  const expected = reader.document();
  if (expected === undefined) return undefined;
  const before = text.slice(0, reader.at).split('\n');
  // Editors count a pair of surrogates as one character, and so does this position.
  const line = before.at(-1) ?? '';
  const column = line.length - (line.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0) + 1;
  const place = `line ${before.length}, column ${column}`;
  return `${reader.at < text.length ? `at ${place}` : `where it ends (${place})`} there must be ${expected}`;
}

/** Returns the pointer (RFC 6901) of the first field of a JSON text whose object has a field of that name before it. Empty if there is none. */
export function repeatedKey(text: string): string {
  const reader = new Reader(text);
  reader.document();
  return reader.repeated;
}

/** Returns the token of a pointer (RFC 6901). A name that no field can have is shortened. */
export function pointerToken(key: string | number): string {
  return `/${String(key).slice(0, 128).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

/**
 * A parser. Each method reads one part from {@link at} on. It returns what is expected where the text stops being valid, or undefined at
 * the end of the part.
 */
class Reader {
  at = 0;
  /** The pointer of the first repeated field. */
  repeated = '';
  /** The names and indices that lead to the part that is read. */
  readonly #path: (string | number)[] = [];

  constructor(private readonly text: string) {}

  document(): string | undefined {
    const expected = this.#value();
    if (expected !== undefined) return expected;
    this.#skip(WHITE);
    return this.at < this.text.length ? 'the end: a value is complete before' : undefined;
  }

  #value(): string | undefined {
    this.#skip(WHITE);
    const first = this.text[this.at];
    if (first === '"') return this.#string();
    if (first === '{') return this.#members('}', true);
    if (first === '[') return this.#members(']', false);
    return this.#skip(SCALAR) ? undefined : 'a value';
  }

  #members(close: string, named: boolean): string | undefined {
    this.at++;
    if (this.#isNext(close)) return undefined;
    const names = new Set<string>();
    for (let index = 0; ; index++) {
      this.#path.push(index);
      const expected = (named ? this.#name(names) : undefined) ?? this.#value();
      if (expected !== undefined) return expected;
      this.#path.pop();
      if (this.#isNext(close)) return undefined;
      if (!this.#isNext(',')) return `\`,\` or \`${close}\``;
    }
  }

  /** `names` are the fields that the object has before this one. */
  #name(names: Set<string>): string | undefined {
    this.#skip(WHITE);
    if (this.text[this.at] !== '"') return 'the name of a field, in `"`';
    const from = this.at;
    const expected = this.#string();
    if (expected !== undefined) return expected;
    const name = JSON.parse(this.text.slice(from, this.at)) as string;
    this.#path[this.#path.length - 1] = name;
    if (this.repeated === '' && names.has(name)) this.repeated = this.#path.map(pointerToken).join('');
    names.add(name);
    return this.#isNext(':') ? undefined : '`:`';
  }

  #string(): string | undefined {
    for (this.at++; this.at < this.text.length; this.at++) {
      const code = this.text.charCodeAt(this.at);
      if (code === QUOTE) {
        this.at++;
        return undefined;
      }
      if (code < SPACE) return 'the end of the string, or an escape such as `\\n` for a control character';
      if (code === BACKSLASH) {
        if (!this.#skip(ESCAPE)) return 'an escape such as `\\n` or `\\u00e4`';
        this.at--;
      }
    }
    return 'the `"` that ends the string';
  }

  /** Moves past the character if it comes next after white space. */
  #isNext(character: string): boolean {
    this.#skip(WHITE);
    if (this.text[this.at] !== character) return false;
    this.at++;
    return true;
  }

  #skip(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }
}
