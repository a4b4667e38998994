import fc from 'fast-check';

/** JSON of values that were changed as careless or hostile callers might. */

/** JSON that is written unchanged, such as a number that no double holds. */
const raw = (JSON as unknown as { rawJSON: (text: string) => object }).rawJSON;

const KEYS = [
  ...'x 0 7 a/b~c $object length orderType sequence products then toJSON'.split(' '),
  ...'__proto__ constructor prototype toString hasOwnProperty'.split(' '),
  ...['', '\ud800'],
];
const INTRUDERS: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1.5, 1e15, '', ' ', 'a b', 'x'.repeat(129), 'x'.repeat(2_100)],
  ...'true 5 new_buy delete_asset 2026-02-30T00:00:00Z 12345-0-0 -0 ٣ e\u0301 \ud800'.split(' '),
  ...['x\u0000', '\u202ex'],
  ...['-0', '1e400', '12345678901234567', '9223372036854775807', '9223372036854775808', '1.0'].map(raw),
  ...[[], {}, [[]], [{}], [null], [[{}]], ['a', 'a'], ['a', null], Array(1_001).fill('a')],
  ...[{ a: 1 }, JSON.parse('{"then":1}'), { length: 1 }],
  [{ orderType: 'new_buy' }, null, 5, [], { orderType: 'refund', x: 1 }],
];

interface Change {
  /** Picks one position among all. */
  readonly place: number;
  readonly kind: 'drop' | 'put' | 'nest' | 'wrap' | 'double' | 'add' | 'copy';
  readonly intruder: unknown;
  readonly key: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  place: fc.nat(1_000),
  kind: fc.constantFrom('drop', 'put', 'put', 'nest', 'wrap', 'double', 'add', 'copy'),
  intruder: fc.constantFrom(...INTRUDERS),
  key: fc.constantFrom(...KEYS),
});

/** The same value as JSON text: a third of the time unchanged, otherwise with up to three changes. */
export function textOfChanged(value: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const changes = fc.oneof(
    fc.constant([]),
    fc.array(change, { minLength: 1, maxLength: 1 }),
    fc.array(change, { maxLength: 3 }),
  );
  return fc.tuple(value, changes).map(([before, all]) => JSON.stringify(all.reduce(changed, copyOf(before))));
}

type Container = Record<string | number, unknown>;
type Place = readonly [container: Container, key: string | number];

function placesIn(container: Container): Place[] {
  const keys = Array.isArray(container) ? [...container.keys()] : Object.keys(container);
  return keys.flatMap((key): Place[] => {
    const member = container[key];
    return [[container, key], ...(isContainer(member) ? placesIn(member) : [])];
  });
}

const isContainer = (value: unknown): value is Container =>
  typeof value === 'object' && value !== null && !('rawJSON' in value);

/** A deep copy; raw JSON stays raw, and no key reaches a prototype. */
function copyOf(value: unknown): unknown {
  if (!isContainer(value)) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)]));
}

function changed(value: unknown, { place, kind, intruder, key }: Change): unknown {
  const root = { value };
  const places = placesIn(root);
  const [container, at] = places[place % places.length] as Place;
  const here = container[at];
  const put = (into: Container, name: string | number, what: unknown) =>
    Object.defineProperty(into, name, {
      value: copyOf(what),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  switch (kind) {
    case 'put':
      put(container, at, intruder);
      break;
    case 'nest':
      put(container, at, [here]);
      break;
    case 'wrap':
      put(container, at, { [key]: here });
      break;
    case 'copy':
      put(container, at, places[(place * 7) % places.length]?.[0]);
      break;
    case 'double':
      if (Array.isArray(here)) put(container, at, [...(here as unknown[]), ...(here as unknown[])]);
      break;
    case 'add': {
      const into = isContainer(here) ? here : container;
      if (Array.isArray(into)) into.push(copyOf(intruder));
      else put(into, key, intruder);
      break;
    }
    case 'drop':
      if (Array.isArray(container)) container.splice(Number(at), 1);
      else if (container !== root) delete container[at];
  }
  return root.value;
}
