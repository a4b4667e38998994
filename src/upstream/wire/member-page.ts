import { type ContractNotes, ContractViolation } from './contract-notes.ts';
import { nullableOfMember, type WireMember, type WirePage } from './member.ts';
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

/** Fields of the page object (interface section 2.10) that follow from the others. */
const PAGE_BOOKKEEPING = [
  ...['pageNum', 'size', 'orderBy', 'startRow', 'endRow', 'pages'],
  ...['firstPage', 'prePage', 'nextPage', 'lastPage', 'isFirstPage'],
  ...['hasPreviousPage', 'navigatePages', 'navigatepageNums'],
];

/** `read` reads one member, and throws `ContractViolation` where it has no id. */
export function toMemberPageOf<T>(
  data: unknown,
  read: (member: Reader<WireMember>) => T,
  notes?: ContractNotes,
): MemberPage<T> {
  const member = (wire: Reader<WireMember>): T | null => {
    try {
      return read(wire);
    } catch (error) {
      if (error instanceof ContractViolation) return null;
      throw error;
    }
  };
  return readObject<WirePage, MemberPage<T>>(
    data,
    (wire) => {
      wire.skip(PAGE_BOOKKEEPING);
      const items = wire.requiredList<WireMember, T | null>('list', member, nullableOfMember);
      const flags = [wire.boolean('isLastPage'), negated(wire.boolean('hasNextPage'))];
      return {
        items,
        came: wire.lengthOf('list'),
        pageSize: wire.count('pageSize'),
        total: wire.count('total'),
        isLast: flags.includes(true) ? true : flags.includes(false) ? false : null,
      };
    },
    notes,
  );
}

function negated(flag: boolean | null): boolean | null {
  return flag === null ? null : !flag;
}
