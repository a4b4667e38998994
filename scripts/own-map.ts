/**
 * Leaves the places of packages out of a source map, and keeps their names. Node decodes the whole map at the first stack that it shows,
 * and keeps it: with the packages that took 100 MiB, so that a gateway in a container of 512 MiB took its heap for full and refused every
 * request.
 */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

interface SourceMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly mappings: string;
}

/** ECMA-426, section 4: a segment is the column, and where it has a source, the source, line and column; each as a difference. */
export function ownMap({ version, sources, mappings }: SourceMap): SourceMap & { names: [] } {
  const read = [0, 0, 0, 0];
  const written = [0, 0, 0, 0];
  let isOwn = false;
  const lines = mappings.split(';').map((line) => {
    read[0] = written[0] = 0;
    const kept: string[] = [];
    for (const segment of line.split(',')) {
      const fields = decoded(segment).slice(0, 4);
      for (const [field, difference] of fields.entries()) read[field] = (read[field] ?? 0) + difference;
      const wasOwn = isOwn;
      isOwn = fields.length === 4 && !sources[read[1] ?? 0]?.includes('node_modules/');
      if (segment === '' || (!isOwn && !wasOwn)) continue;
      // The first segment of a package ends the last one before it.
      const now = isOwn ? read : read.slice(0, 1);
      kept.push(now.map((value, field) => encoded(value - (written[field] ?? 0))).join(''));
      for (const [field, value] of now.entries()) written[field] = value;
    }
    return kept.join(',');
  });
  return { version, sources, names: [], mappings: lines.join(';') };
}

function decoded(segment: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const digit of segment) {
    const bits = DIGITS.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return numbers;
}

function encoded(number: number): string {
  let value = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = '';
  do {
    const bits = value & 31;
    value >>= 5;
    text += DIGITS[value > 0 ? bits | 32 : bits];
  } while (value > 0);
  return text;
}
