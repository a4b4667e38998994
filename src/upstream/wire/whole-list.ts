import { ProblemException } from '../../problem/problem.exception.ts';
import type { ContractNotes } from '../gaps.ts';
import type { Deciding } from '../platform-readings.ts';
import { ContractViolation } from '../upstream-failure.ts';
import { type Reader, readList } from './reader.ts';
import type { Shape } from './shape.ts';

declare const whole: unique symbol;

/**
 * A list that may decide by what is missing from it: the platform sent it, every item could be read, and each item has the fields of the
 * decision. Only {@link readWhole} and {@link wholeOf} make it. Lists for callers are read more tolerantly, so code that decides must not
 * accept them.
 */
export type WholeList<T> = readonly T[] & { readonly [whole]: true };

/** Reads a list as {@link readList} does, and tells whether a decision may depend on what is missing from it. */
export function readDeciding<Name extends string, T>(
  shape: Shape<Name>,
  data: unknown,
  { fields, nullIsEmpty }: Deciding<Name>,
  read: (item: Reader<Name>) => T,
  notes?: ContractNotes,
): CameList<T> {
  let haveFields = true;
  const items = readList(shape, data, notes, (wire) => {
    haveFields &&= fields.every((name) => wire.came(name));
    return read(wire);
  });
  const came = Array.isArray(data) ? data.length === items.length : nullIsEmpty;
  return { items, isWhole: came && haveFields };
}

/** A list as it arrived, for a cache. Callers may see it, and it says whether it may decide. */
export interface CameList<T> {
  readonly items: readonly T[];
  readonly isWhole: boolean;
}

/** Throws a problem if the list must not decide. */
export function wholeOf<T>({ items, isWhole }: CameList<T>): WholeList<T> {
  if (!isWhole)
    throw new ProblemException('upstream-contract-violation', {
      outcome: 'not_processed',
      detail: 'A list of the platform did not come whole, so the gateway does not decide by what it lacks.',
    });
  return items as WholeList<T>;
}

/** Throws {@link ContractViolation} if the list must not decide. */
export function readWhole<Name extends string, T>(
  shape: Shape<Name>,
  data: unknown,
  deciding: Deciding<Name>,
  read: (item: Reader<Name>) => T,
  notes?: ContractNotes,
): WholeList<T> {
  const { items, isWhole } = readDeciding(shape, data, deciding, read, notes);
  if (!isWhole)
    throw new ContractViolation('data', `a whole list, each item with ${deciding.fields.join(', ')}`);
  return items as WholeList<T>;
}
