import type { ProblemException } from '../../problem/problem.exception.ts';
import type { ContractNotes } from '../gaps.ts';
import type { Deciding } from '../platform-readings.ts';
import type { OperationName } from '../operations.ts';
import { violation } from '../problems/violation.ts';
import { ContractViolation } from '../upstream-failure.ts';
import { type Reader, readList } from './reader.ts';
import type { Shape } from './shape.ts';

declare const whole: unique symbol;

/**
 * A list that may decide by what is missing from it: the platform sent it, every item could be read, and each item has the fields of the
 * decision. Only {@link wholeItems} and {@link wholeOf} make it. Lists for callers are read more tolerantly, so code that decides must not
 * accept them.
 */
export type WholeList<T> = readonly T[] & { readonly [whole]: true };

/** Reads a list as {@link readList} does, and tells by which of the fields a decision may depend on what is missing from it. */
export function readDeciding<Name extends string, Field extends Name, T>(
  shape: Shape<Name>,
  data: unknown,
  { fields, nullIsEmpty }: Deciding<Field>,
  read: (item: Reader<Name>) => T,
  notes?: ContractNotes,
): CameList<T, Field> {
  const lacking = new Set<Field>();
  const items = readList(shape, data, notes, (wire) => {
    const item = read(wire);
    for (const name of fields) if (!wire.came(name)) lacking.add(name);
    return item;
  });
  const came = Array.isArray(data) ? data.length === items.length : nullIsEmpty;
  return { items, came, lacking: [...lacking] };
}

/** A list as it arrived, for a cache. Callers may see it, and it says whether it may decide. */
export interface CameList<T, Field extends string> {
  readonly items: readonly T[];
  /** True if the platform sent the list, and every item could be read. */
  readonly came: boolean;
  /** The deciding fields that some item lacks, or has in a form that could not be read. */
  readonly lacking: readonly Field[];
}

/** True if a decision by these fields may depend on what is missing from the list. */
export function isWholeFor<Field extends string>(
  { came, lacking }: CameList<unknown, Field>,
  fields: readonly NoInfer<Field>[],
): boolean {
  return came && fields.every((name) => !lacking.includes(name));
}

/** Throws a problem if the list of this operation must not decide by these fields. */
export function wholeOf<T, Field extends string>(
  operation: OperationName,
  list: CameList<T, Field>,
  fields: readonly NoInfer<Field>[],
): WholeList<T> {
  if (!isWholeFor(list, fields)) throw notWhole(operation);
  return list.items as WholeList<T>;
}

/** The fields by which each filter of a request decides. */
type Filters<Field extends string> = Readonly<Record<string, readonly Field[]>>;

/** Returns the items, to which the caller applies its filters. Throws a problem if the list must not decide by the filters that are `wanted`. */
export function filterable<T, Field extends string>(
  operation: OperationName,
  list: CameList<T, Field>,
  filters: Filters<NoInfer<Field>>,
  wanted: object,
): readonly T[] {
  const fields = Object.entries(wanted).flatMap(([name, value]) =>
    value === undefined ? [] : (filters[name] ?? []),
  );
  return fields.length === 0 ? list.items : wholeOf(operation, list, fields);
}

/** Returns the problem of a list that must not decide. */
export function notWhole(operation: OperationName): ProblemException {
  return violation(
    'A list of the platform did not come whole, so the gateway does not decide by what it lacks.',
    { operation, status: 200 },
  );
}

/** Returns the items. Throws {@link ContractViolation} if the list must not decide by these fields. */
export function wholeItems<T, Field extends string>(
  list: CameList<T, Field>,
  fields: readonly NoInfer<Field>[],
): WholeList<T> {
  if (!isWholeFor(list, fields))
    throw new ContractViolation('data', `a whole list, each item with ${fields.join(', ')}`);
  return list.items as WholeList<T>;
}

/** Throws {@link ContractViolation} if the list must not decide. */
export function readWhole<Name extends string, T>(
  shape: Shape<Name>,
  data: unknown,
  deciding: Deciding<Name>,
  read: (item: Reader<Name>) => T,
  notes?: ContractNotes,
): WholeList<T> {
  return wholeItems(readDeciding(shape, data, deciding, read, notes), deciding.fields);
}
