/** Responses with single odd fields: the small differences between a real platform and its interface. */
import { isObject } from '../json.ts';
import type { SeededRandom } from '../random.ts';
import type { FaultAction } from './rules.ts';

type Odd = NonNullable<FaultAction['odd']>;

/** Values that replace a field; `undefined` removes it. */
const VALUES: readonly unknown[] = [
  ...[undefined, null, '', ' ', '0', '7', 'true', 'yesterday', 'x'.repeat(300), '\u0000'],
  ...[0, -1, 1.5, 3, 2_147_483_648, 9_223_372_036_854_775_807n, true, false],
  ...[[], [null], {}, { more: 1 }],
];

/**
 * Returns a copy of a success envelope with other values in it. `pointer` (RFC 6901) names one field, and `share` draws fields below
 * `data`.
 */
export function oddly(body: unknown, odd: Odd, random: SeededRandom): unknown {
  if (odd.pointer !== undefined) {
    const tokens = odd.pointer.split('/').slice(1);
    const names = tokens.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
    return replaced(body, names, odd.value);
  }
  if (!isObject(body) || !('data' in body)) return body;
  return { ...body, data: shaken(body['data'], odd.share ?? 1, random) };
}

function replaced(target: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  if (Array.isArray(target)) {
    const items: unknown[] = [...(target as unknown[])];
    const place = Number(name);
    if (rest.length === 0 && value === undefined) items.splice(place, 1);
    else items[place] = replaced(items[place], rest, value);
    return items;
  }
  const copy: Record<string, unknown> = isObject(target) ? { ...target } : {};
  if (rest.length === 0 && value === undefined) delete copy[name];
  else copy[name] = replaced(copy[name], rest, value);
  return copy;
}

function shaken(value: unknown, share: number, random: SeededRandom): unknown {
  if (Array.isArray(value)) return value.map((item) => shaken(item, share, random));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
      if (random.next() >= share) return [[name, shaken(member, share, random)]];
      const other = VALUES[Math.floor(random.next() * VALUES.length)];
      return other === undefined ? [] : [[name, other]];
    }),
  );
}
