/** The platform's data does not have the shape of its interface. Names the location, never the value. */
export class ContractViolation extends Error {
  override readonly name = 'ContractViolation';

  constructor(
    readonly place: string,
    expected: string,
  ) {
    super(`${place} is not ${expected}`);
  }
}

/** The tree is too large, so the gateway reads nothing of the answer. */
export class UnreadableTree extends ContractViolation {}

/** The platform carried out the call, but its answer lacks the result of some parts; `matched` has the others, decoded. */
export class IncompleteAnswer extends ContractViolation {
  constructor(
    place: string,
    expected: string,
    readonly matched: readonly unknown[],
  ) {
    super(place, expected);
  }
}

/** How a usable answer departs from the interface (docs/api.md, section 7). */
export const gapKinds = [
  'unknown-field',
  'unknown-word',
  'wrong-type',
  'null',
  'empty',
  'missing',
  'time-unit',
  'limit',
] as const;
export type GapKind = (typeof gapKinds)[number];

/** The departures of one answer, each once: its kind and the field's path (`data.list[].keyChipType`), never a value. */
export class ContractNotes {
  readonly #noted = new Map<string, { readonly path: string; readonly kind: GapKind }>();

  add(path: string, kind: GapKind): void {
    this.#noted.set(`${kind} ${path}`, { path, kind });
  }

  has(path: string, kind: GapKind): boolean {
    return this.#noted.has(`${kind} ${path}`);
  }

  [Symbol.iterator](): Iterator<{ readonly path: string; readonly kind: GapKind }> {
    return this.#noted.values();
  }
}
