import type { KnownReadings } from '../config/platform-profile.ts';
import { plainReadings, type ReadingName, readingNames } from '../config/readings.ts';
import { interfaceCodes } from '../config/taught-codes.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { operations, type UpstreamModule, type UpstreamOperation } from '../upstream/operations.ts';
import { upstreamCodes } from '../upstream/problems/upstream-codes.ts';
import { FLAGS } from './list-questions.ts';
import type { Answer } from './platform.ts';

/** A difference from the gateway's needs or from the interface that no reading covers. */
export interface Remark {
  readonly what: string;
  /** True if something would be wrong with today's settings. */
  readonly isWrong: boolean;
}

/** A read of the enterprise that the platform refused. */
interface Refusal {
  readonly operation: string;
  /** Null where the answer has no code. */
  readonly code: string | null;
  readonly words: string;
}

/** A code that is missing from the interface. */
interface ForeignCode {
  readonly module: UpstreamModule;
  readonly code: string;
  readonly words: string;
}

/** The observed behaviour of the platform. Nothing in it is personal. */
export class Findings {
  readonly #readings: Partial<Record<ReadingName, string | number>> = {};
  readonly #contradicted = new Set<ReadingName>();
  readonly #gaps = new Set<string>();
  readonly #read = new Set<UpstreamModule>();
  readonly #codes = new Map<string, ForeignCode>();
  readonly remarks: Remark[] = [];
  readonly refused: Refusal[] = [];
  /** Lists that arrived empty, so that nothing was seen of their items. */
  readonly notSeen: string[] = [];
  /** Objects that the command made and could not remove. */
  readonly left: string[] = [];

  get readings(): KnownReadings {
    return this.#readings as KnownReadings;
  }

  /** Records the value of a reading. Undefined means that no answer shows it. */
  found<Name extends ReadingName>(name: Name, value: KnownReadings[Name]): void {
    if (value === undefined) return;
    this.#readings[name] = value as string | number;
    this.#contradicted.delete(name);
  }

  /** Records that the value in the earlier profile is wrong, and that no answer shows the right one. */
  contradicted(name: ReadingName): void {
    delete this.#readings[name];
    this.#contradicted.add(name);
  }

  /** Returns the readings of the earlier profile as they are after this run. */
  after(before: KnownReadings): KnownReadings {
    const kept = Object.entries(before).filter(([name]) => !this.#contradicted.has(name as ReadingName));
    return { ...Object.fromEntries(kept), ...this.readings };
  }

  /** The readings in which the platform differs from what the interface suggests. */
  get differing(): ReadingName[] {
    return readingNames.filter((name) => {
      const value = this.#readings[name];
      return value !== undefined && value !== plainReadings[name];
    });
  }

  get notAsked(): ReadingName[] {
    return readingNames.filter((name) => this.#readings[name] === undefined);
  }

  /** Adds a remark. The same remark about several answers counts once. */
  remark(what: string, isWrong = false): void {
    if (!this.remarks.some((each) => each.what === what)) this.remarks.push({ what, isWrong });
  }

  note({ operationId }: UpstreamOperation, notes: ContractNotes): void {
    for (const { path, kind } of notes) this.#gaps.add(`${operationId} ${path} ${kind}`);
  }

  /** Notes the code of any answer. */
  met({ operation, code, words }: Answer): void {
    const { module } = operation;
    if (code !== undefined && !isOfInterface(code, operation))
      this.#codes.set(`${module} ${code}`, { module, code, words });
  }

  /** Notes a code of the token endpoint. The profile may teach it in either module. */
  metAtTokenEndpoint(code: string, words: string): void {
    if (!interfaceCodes.some((known) => known === code))
      this.#codes.set(`member ${code}`, { module: 'member', code, words });
  }

  /** Notes the answer to a read of the enterprise, which should succeed. */
  read({ operation, kind, code, words }: Answer): void {
    const { operationId, module } = operation;
    const refusal = { operation: operationId, code: code ?? null, words };
    if (kind === 'success') this.#read.add(module);
    else if (!this.refused.some((each) => each.operation === operationId && each.code === refusal.code))
      this.refused.push(refusal);
  }

  /** The modules of which every read of the enterprise failed. */
  get unread(): UpstreamModule[] {
    return (['order', 'member'] as const).filter((module) => !this.#read.has(module));
  }

  /** Codes that are missing from the interface, for an operator who can ask for their meaning. */
  get codes(): ForeignCode[] {
    return [...this.#codes.values()];
  }

  /**
   * The departures of responses from the interface, by the operation, the field's path and the kind. Departures that a reading explains are
   * left out.
   */
  get gaps(): string[] {
    const explained = this.differing.flatMap((name) => EXPLAINED[name] ?? []);
    return [...this.#gaps].filter((gap) => !explained.some((form) => form.test(gap))).sort();
  }
}

/** True if the interface has the code for this operation. Codes without operations belong to every operation. */
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
