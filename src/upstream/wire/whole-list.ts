import { ProblemException } from '../../problem/problem.exception.ts';
import type { ContractNotes } from '../gaps.ts';
import type { Deciding } from '../platform-readings.ts';
import { ContractViolation } from '../upstream-failure.ts';
import { type Reader, readList } from './reader.ts';
import type { Shape } from './shape.ts';

declare const whole: unique symbol;

/**
 * A list that may decide by what it lacks: the platform sent it, every item could be read, and each one has the fields that decide. Only
 * {@link readWhole} and {@link wholeOf} make it. Lists that are shown to callers are read more tolerantly, so code that decides must not take them.
 */
export type WholeList<T> = readonly T[] & { readonly [whole]: true };

/** Reads a list as {@link readList} does, and says whether it may decide by what it lacks. */
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

/** A list as it came, for a cache: it may be shown, and says whether it may decide. */
export interface CameList<T> {
  readonly items: readonly T[];
  readonly isWhole: boolean;
}

/** Throws a problem where the list must not decide. */
export function wholeOf<T>({ items, isWhole }: CameList<T>): WholeList<T> {
  if (!isWhole)
    throw new ProblemException('upstream-contract-violation', {
      outcome: 'not_processed',
      detail: 'A list of the platform did not come whole, so the gateway does not decide by what it lacks.',
    });
  return items as WholeList<T>;
}

/** Throws {@link ContractViolation} where the list must not decide. */
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
