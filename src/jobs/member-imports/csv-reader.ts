import { MAX_ROW_BYTES, TOO_LONG } from './file-row.ts';

const LINE_FEED = 0x0a;
const RETURN = 0x0d;
/** The most cells of a row. It is more than any valid row has, because a row of commas would have thousands of cells. */
const MAX_CELLS = 64;
const NOT_UTF8 =
  'must be in UTF-8, and has a byte that UTF-8 does not have there, as files in Latin-1 or Windows-1252 have: save it in UTF-8';
const MISPLACED_QUOTE =
  'is not CSV: a quote stands inside of a cell that does not begin with one, or text follows its end';

interface Line {
  /** The number of the line. The first line of the file is 1. */
  readonly line: number;
  readonly text: string;
  /** The characters that end the line. */
  readonly end: string;
  readonly bytes: number;
  /** Why the file cannot be read from this line on. */
  readonly refusal?: string;
}

/** A row of the file: its cells, or why the reader could not separate them. */
export interface CsvRecord {
  /** The line where the record begins. */
  readonly line: number;
  readonly cells: readonly string[];
  readonly fault?: string;
  /** True if the rest of the file is not read. */
  readonly isLast?: boolean;
}

/**
 * Reads CSV (RFC 4180) in pieces, without empty lines. After a row that is not CSV, it continues in the next line. An unclosed quote would
 * turn the rest of the file into one cell. Such a row ends with the line of that quote instead.
 */
export class CsvReader {
  readonly #separator: string;
  readonly #lines = new Lines();
  #open: OpenRecord | undefined;

  constructor(separator: string) {
    this.#separator = separator;
  }

  /** Yields the records that end within this piece of the file. Without a piece, it yields the records that end with the file. */
  *read(piece?: Buffer): Generator<CsvRecord> {
    for (const line of piece ? this.#lines.read(piece) : this.#lines.end()) yield* this.#take(line);
    if (piece) return;
    while (this.#open) {
      const { record, rest } = this.#open.unclosed();
      this.#open = undefined;
      yield record;
      for (const line of rest) yield* this.#take(line);
    }
  }

  *#take(first: Line): Generator<CsvRecord> {
    let lines: readonly Line[] = [first];
    for (let next = 0; next < lines.length; next++) {
      const line = lines[next] as Line;
      if (line.refusal !== undefined)
        return yield { line: line.line, cells: [], fault: line.refusal, isLast: true };
      if (!this.#open && line.text === '') continue;
      this.#open ??= new OpenRecord(this.#separator);
      const ended = this.#open.read(line);
      if (!ended) continue;
      this.#open = undefined;
      yield ended.record;
      if (ended.rest.length === 0) continue;
      lines = [...ended.rest, ...lines.slice(next + 1)];
      next = -1;
    }
  }
}

/** The end of a record. `rest` has the lines that were read as a part of the record and are to be read again. */
interface Ended {
  readonly record: CsvRecord;
  readonly rest: readonly Line[];
}

class OpenRecord {
  readonly #separator: string;
  readonly #lines: Line[] = [];
  readonly #cells: string[] = [];
  #bytes = 0;
  /** The quoted cell that is not closed yet. `at` is the index of its first line within the record. */
  #quoted: { readonly at: number; readonly parts: string[] } | undefined;

  constructor(separator: string) {
    this.#separator = separator;
  }

  /** Reads one line. Returns undefined while the record continues in the next line. */
  read(line: Line): Ended | undefined {
    const { text, end, bytes } = line;
    this.#lines.push(line);
    this.#bytes += bytes;
    for (let at = 0; ; at++) {
      if (!this.#quoted && text[at] === '"') {
        this.#quoted = { at: this.#lines.length - 1, parts: [] };
        at++;
      }
      if (this.#quoted) {
        const { at: began, parts } = this.#quoted;
        const closing = closingQuote(text, at);
        parts.push(closing < 0 ? text.slice(at) + end : text.slice(at, closing));
        if (closing < 0) return this.#bytes > MAX_ROW_BYTES ? this.unclosed() : undefined;
        at = closing + 1;
        if (at < text.length && text[at] !== this.#separator)
          return began < this.#lines.length - 1 ? this.unclosed() : this.#faulty(MISPLACED_QUOTE);
        this.#cells.push(parts.join('').replaceAll('""', '"'));
        this.#quoted = undefined;
      } else {
        const next = text.indexOf(this.#separator, at);
        const cell = text.slice(at, next < 0 ? text.length : next);
        if (cell.includes('"')) return this.#faulty(MISPLACED_QUOTE);
        this.#cells.push(cell);
        at += cell.length;
      }
      if (at >= text.length) break;
      if (this.#cells.length >= MAX_CELLS) return this.#faulty(`must have at most ${MAX_CELLS} cells`);
    }
    return this.#bytes > MAX_ROW_BYTES ? this.#faulty(TOO_LONG) : this.#ended({ cells: this.#cells });
  }

  /** Ends the record with the line of the unclosed quote. */
  unclosed(): Ended {
    const at = this.#quoted?.at ?? 0;
    const where = at === 0 ? '' : `: it stands in line ${this.#lines[at]?.line}`;
    return this.#ended({ fault: `has a quote that is not closed${where}` }, this.#lines.slice(at + 1));
  }

  #faulty(fault: string): Ended {
    return this.#ended({ fault });
  }

  #ended(what: { cells?: readonly string[]; fault?: string }, rest: readonly Line[] = []): Ended {
    return { record: { line: this.#lines[0]?.line ?? 0, cells: [], ...what }, rest };
  }
}

/** Returns the index of the quote that ends a cell. Two quotes in a row are one character of the cell. */
function closingQuote(text: string, from: number): number {
  for (let at = text.indexOf('"', from); at >= 0; at = text.indexOf('"', at + 2))
    if (text[at + 1] !== '"') return at;
  return -1;
}

/** Divides pieces of a file into its lines. It stops after the first line that cannot be read. */
class Lines {
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #rest: Buffer = Buffer.alloc(0);
  #line = 0;
  #isRefused = false;

  *read(piece: Buffer): Generator<Line> {
    const bytes = this.#rest.length > 0 ? Buffer.concat([this.#rest, piece]) : piece;
    let from = 0;
    let feed = bytes.indexOf(LINE_FEED);
    let back = bytes.indexOf(RETURN);
    while (!this.#isRefused && (feed >= 0 || back >= 0)) {
      const at = back < 0 || (feed >= 0 && feed < back) ? feed : back;
      // A line feed may follow in the next piece.
      if (at === back && at === bytes.length - 1) break;
      const end = at === feed ? '\n' : bytes[at + 1] === LINE_FEED ? '\r\n' : '\r';
      yield this.#lineOf(bytes.subarray(from, at), end);
      from = at + end.length;
      if (feed >= 0 && feed < from) feed = bytes.indexOf(LINE_FEED, from);
      if (back >= 0 && back < from) back = bytes.indexOf(RETURN, from);
    }
    this.#rest = bytes.subarray(from);
    if (this.#rest.length > MAX_ROW_BYTES) yield* this.end();
  }

  *end(): Generator<Line> {
    const last = this.#rest;
    this.#rest = Buffer.alloc(0);
    if (this.#isRefused || last.length === 0) return;
    const isReturned = last.at(-1) === RETURN;
    yield this.#lineOf(isReturned ? last.subarray(0, -1) : last, isReturned ? '\r' : '');
  }

  #lineOf(bytes: Buffer, end: string): Line {
    const line = ++this.#line;
    const refused = (refusal: string): Line => {
      this.#isRefused = true;
      return { line, text: '', end, bytes: 0, refusal };
    };
    if (bytes.length > MAX_ROW_BYTES) return refused(TOO_LONG);
    try {
      const text = bytes.length === 0 ? '' : this.#decoder.decode(bytes);
      return {
        line,
        text: line === 1 ? text.replace(/^\uFEFF/, '') : text,
        end,
        bytes: bytes.length + end.length,
      };
    } catch {
      return refused(NOT_UTF8);
    }
  }
}
