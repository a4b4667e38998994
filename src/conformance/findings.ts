import type { KnownReadings } from '../config/platform-profile.ts';
import { plainReadings, type ReadingName, readingNames } from '../config/readings.ts';
import { interfaceCodes } from '../config/taught-codes.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { operations, type UpstreamModule, type UpstreamOperation } from '../upstream/operations.ts';
import { upstreamCodes } from '../upstream/problems/upstream-codes.ts';
import { FLAGS } from './list-questions.ts';
import type { Answer } from './platform.ts';

/** Something besides the readings that is not as the gateway needs it, or as the interface says. */
export interface Remark {
  readonly what: string;
  /** With today's settings something would be wrong. */
  readonly isWrong: boolean;
}

/** A read of the enterprise that the platform does not answer. */
interface Refusal {
  /** The gateway's operation. */
  readonly operation: string;
  /** Null where the answer has none. */
  readonly code: string | null;
  readonly words: string;
}

/** A code that the interface does not have. */
interface ForeignCode {
  readonly module: UpstreamModule;
  readonly code: string;
  readonly words: string;
}

/** What the platform was found to do. Nothing in it is personal. */
export class Findings {
  readonly #readings: Partial<Record<ReadingName, string | number>> = {};
  readonly #gaps = new Set<string>();
  readonly #read = new Set<UpstreamModule>();
  readonly #codes = new Map<string, ForeignCode>();
  readonly remarks: Remark[] = [];
  readonly refused: Refusal[] = [];
  /** Lists that came without an item, so that nothing of their items was seen. */
  readonly notSeen: string[] = [];
  /** What was made and could not be removed. */
  readonly left: string[] = [];

  get readings(): KnownReadings {
    return this.#readings as KnownReadings;
  }

  /** Undefined: no answer shows it. */
  found<Name extends ReadingName>(name: Name, value: KnownReadings[Name]): void {
    if (value !== undefined) this.#readings[name] = value as string | number;
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

  /** The same remark about several answers is one. */
  remark(what: string, isWrong = false): void {
    if (!this.remarks.some((each) => each.what === what)) this.remarks.push({ what, isWrong });
  }

  note({ operationId }: UpstreamOperation, notes: ContractNotes): void {
    for (const { path, kind } of notes) this.#gaps.add(`${operationId} ${path} ${kind}`);
  }

  /** Any answer that came, for its code. */
  met({ operation, code, words }: Answer): void {
    const { module } = operation;
    if (code !== undefined && !isOfInterface(code, operation))
      this.#codes.set(`${module} ${code}`, { module, code, words });
  }

  /** A code of the token endpoint. The profile may teach it in either module. */
  metAtTokenEndpoint(code: string, words: string): void {
    if (!interfaceCodes.some((known) => known === code))
      this.#codes.set(`member ${code}`, { module: 'member', code, words });
  }

  /** The answer to a read of the enterprise, which should come. */
  read({ operation, kind, code, words }: Answer): void {
    const { operationId, module } = operation;
    const refusal = { operation: operationId, code: code ?? null, words };
    if (kind === 'success') this.#read.add(module);
    else if (!this.refused.some((each) => each.operation === operationId && each.code === refusal.code))
      this.refused.push(refusal);
  }

  /** The modules of which no read of the enterprise came. */
  get unread(): UpstreamModule[] {
    return (['order', 'member'] as const).filter((module) => !this.#read.has(module));
  }

  /** Codes that the interface does not have, for an operator who can ask what they mean. */
  get codes(): ForeignCode[] {
    return [...this.#codes.values()];
  }

  /** How responses depart from the interface, by the operation, the field's path and the kind; without what a reading says already. */
  get gaps(): string[] {
    const explained = this.differing.flatMap((name) => EXPLAINED[name] ?? []);
    return [...this.#gaps].filter((gap) => !explained.some((form) => form.test(gap))).sort();
  }
}

/** Codes without operations are of every operation. */
function isOfInterface(code: string, { module, partialCode }: UpstreamOperation): boolean {
  const of = upstreamCodes.get(code)?.of;
  if (!of) return code === partialCode;
  return of.length === 0 || of.some((name) => operations[name].module === module);
}

/** The departures that follow from a reading. */
const EXPLAINED: Partial<Readonly<Record<ReadingName, RegExp[]>>> = {
  pageNumbers: [/^listMembers data\.\w+ /],
  pageTotal: [/^listMembers data\.\w+ missing$/],
  pageFlags: [/^listMembers data\.\w+ missing$/],
  mobiles: [/^listMembers data\.list\[\]\.passwordMobile missing$/],
  timestampUnit: [/ time-unit$/],
  memberIds: [/ wrong-type$/],
  otherIds: [/ wrong-type$/],
  emptyLists: [/(data|\.(assetExtends|assetNums|list|children|productInstanceList)) null$/],
  flags: [new RegExp(`\\.(${FLAGS.join('|')}) wrong-type$`)],
};
