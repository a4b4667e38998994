import fc from 'fast-check';

/** JSON that is written unchanged, such as a number that no double holds. */
const raw = (JSON as unknown as { rawJSON: (text: string) => object }).rawJSON;
/** What careless or hostile callers might put anywhere. */
const INTRUDERS: readonly unknown[] = [
  // Left out where it is a member.
  undefined,
  ...[null, true, false, 0, -1, 1.5, 1e15, '', ' ', 'a b', 'x'.repeat(129), 'x'.repeat(2_100)],
  ...'true 5 new_buy delete_asset 2026-02-30T00:00:00Z 12345-0-0 -0 ٣ e\u0301 \ud800'.split(' '),
  ...['x\u0000', '\u202ex'],
  ...['-0', '1e400', '12345678901234567', '9223372036854775807', '9223372036854775808', '1.0'].map(raw),
  ...[[], {}, [[]], [{}], [null], [[{}]], ['a', 'a'], ['a', null], Array(1_001).fill('a')],
  ...[{ a: 1 }, JSON.parse('{"then":1}'), { length: 1 }],
  [{ orderType: 'new_buy' }, null, 5, [], { orderType: 'refund', x: 1 }],
];
const KEYS = 'x 0 a/b~c $object length orderType products then toJSON __proto__ constructor \ud800'.split(
  ' ',
);

type Change = (part: unknown) => unknown;
const hasParts = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !('rawJSON' in value);
const changes: fc.Arbitrary<Change> = fc.oneof(
  fc.constantFrom(...INTRUDERS).map((intruder) => () => intruder),
  fc.tuple(fc.constantFrom(...KEYS), fc.constantFrom(...INTRUDERS)).map(([key, intruder]): Change => {
    return (part) => {
      if (Array.isArray(part)) return [...(part as unknown[]), intruder];
      return hasParts(part) ? Object.fromEntries([...Object.entries(part), [key, intruder]]) : intruder;
    };
  }),
  fc.constantFrom<Change>(
    (part) => [part],
    (part) => (Array.isArray(part) ? [...(part as unknown[]), ...(part as unknown[])] : part),
  ),
);

/** The value with the part changed to which the path leads, in each object or list by the number of a member. */
function changedAt(value: unknown, [member, ...path]: readonly number[], change: Change): unknown {
  const entries = hasParts(value) ? Object.entries(value) : [];
  if (member === undefined || entries.length === 0) return change(value);
  const at = member % entries.length;
  const members = entries.map(([key, part], index) => [
    key,
    index === at ? changedAt(part, path, change) : (part as unknown),
  ]);
  return Array.isArray(value) ? members.map(([, part]) => part) : Object.fromEntries(members);
}

/** JSON of such values: a third of them unchanged, the others with up to three changes. */
export function textOfChanged(values: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const one = fc.tuple(fc.array(fc.nat(100), { maxLength: 8 }), changes);
  const some = fc.oneof(fc.constant([]), fc.tuple(one), fc.array(one, { maxLength: 3 }));
  return fc
    .tuple(values, some)
    .map(([value, all]) =>
      all.reduce<unknown>((each, [path, change]) => changedAt(each, path, change), value),
    )
    .map((value) => JSON.stringify(value) ?? 'null');
}
