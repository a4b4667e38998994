import { type ContractNotes, ContractViolation } from './contract-notes.ts';
import { type MemberField, memberShape, pageShape } from './member.ts';
import { type Reader, readObject } from './reader.ts';

/** A page of members as the platform gave it, which need not be the page that was asked for. */
export interface MemberPage<T> {
  /** In the platform's order; null where a member has no id. */
  readonly items: readonly (T | null)[];
  /** So many items came, also those that are none. */
  readonly came: number;
  /** What the platform says of it; null where it does not. */
  readonly pageSize: number | null;
  readonly total: number | null;
  readonly isLast: boolean | null;
}

/** `read` reads one member, and throws `ContractViolation` where it has no id. */
export function toMemberPageOf<T>(
  data: unknown,
  read: (member: Reader<MemberField>) => T,
  notes?: ContractNotes,
): MemberPage<T> {
  const member = (wire: Reader<MemberField>): T | null => {
    try {
      return read(wire);
    } catch (error) {
      if (error instanceof ContractViolation) return null;
      throw error;
    }
  };
  return readObject(pageShape, data, notes, (wire) => {
    const items = wire.requiredList('list', memberShape, member);
    const flags = [wire.boolean('isLastPage'), negated(wire.boolean('hasNextPage'))];
    return {
      items,
      came: wire.lengthOf('list'),
      pageSize: wire.count('pageSize'),
      total: wire.count('total'),
      isLast: flags.includes(true) ? true : flags.includes(false) ? false : null,
    };
  });
}

function negated(flag: boolean | null): boolean | null {
  return flag === null ? null : !flag;
}
