import type { KnownReadings } from '../config/platform-profile.ts';
import { plainReadings, type ReadingName, readingNames } from '../config/readings.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { type OperationName, operations } from '../upstream/operations.ts';

/** Something besides the readings that is not as the gateway needs it, or as the interface says. */
export interface Remark {
  readonly what: string;
  /** With today's settings something would be wrong. */
  readonly isWrong: boolean;
}

/** What the platform was found to do. Nothing in it is personal. */
export class Findings {
  readonly #readings: Partial<Record<ReadingName, string | number>> = {};
  readonly #gaps = new Set<string>();
  readonly remarks: Remark[] = [];
  /** What was made and could not be removed. */
  readonly left: string[] = [];

  get readings(): KnownReadings {
    return this.#readings as KnownReadings;
  }

  found<Name extends ReadingName>(name: Name, value: KnownReadings[Name]): void {
    this.#readings[name] = value as string | number;
  }

  /** What the platform does otherwise than the interface suggests. */
  get differing(): ReadingName[] {
    return readingNames.filter((name) => {
      const value = this.#readings[name];
      return value !== undefined && value !== plainReadings[name];
    });
  }

  get notAsked(): ReadingName[] {
    return readingNames.filter((name) => this.#readings[name] === undefined);
  }

  remark(what: string, isWrong = false): void {
    this.remarks.push({ what, isWrong });
  }

  note(operation: OperationName, notes: ContractNotes): void {
    for (const { path, kind } of notes)
      this.#gaps.add(`${operations[operation].operationId} ${path} ${kind}`);
  }

  /** How responses depart from the interface, by the operation, the field's path and the kind; without what a reading says already. */
  get gaps(): string[] {
    const explained = this.differing.flatMap((name) => EXPLAINED[name] ?? []);
    return [...this.#gaps].filter((gap) => !explained.some((form) => form.test(gap))).sort();
  }
}

/** The departures that follow from a reading. */
const EXPLAINED: Partial<Readonly<Record<ReadingName, RegExp[]>>> = {
  pageNumbers: [/^listMembers data\.\w+ /],
  pageTotal: [/^listMembers data\.\w+ missing$/],
  pageFlags: [/^listMembers data\.\w+ missing$/],
  timestampUnit: [/ time-unit$/],
  memberIds: [/ wrong-type$/],
  otherIds: [/ wrong-type$/],
};
