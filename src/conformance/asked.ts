import type { UpstreamConfig } from '../config/app-config.ts';
import type { KnownReadings } from '../config/platform-profile.ts';
import { plainReadings, type ReadingName } from '../config/readings.ts';
import { freshHex } from '../shared/random-bytes.ts';
import { ContractNotes } from '../upstream/gaps.ts';
import type { MemberList } from '../upstream/member-list.ts';
import type { OperationName } from '../upstream/operations.ts';
import { upstreamCodes } from '../upstream/problems/upstream-codes.ts';
import { ContractViolation } from '../upstream/upstream-failure.ts';
import type { Findings } from './findings.ts';
import type { Answer, Platform, Question } from './platform.ts';

/** An id that no platform has, because of its beginning. */
export const UNKNOWN_ID = `conformance-unknown-${freshHex(4)}`;

interface Target {
  readonly enterpriseGlobalId: string;
  readonly channelCode: string | undefined;
}

type Decode = (data: unknown, notes: ContractNotes) => unknown;

/** One run: the platform, and the findings. Every question goes through this class, so that no code is missed. */
export class Asked {
  /** The answers that refused something, whether they should or not. */
  readonly refusals: Answer[] = [];

  constructor(
    readonly platform: Platform,
    readonly members: MemberList,
    readonly findings: Findings,
    readonly config: UpstreamConfig,
    readonly target: Target,
  ) {}

  /** Asks a question whose refusal is an answer too. */
  async ask(name: OperationName, question: Question = {}): Promise<Answer> {
    const { enterpriseGlobalId } = this.target;
    const answer = await this.platform.ask(name, {
      ...question,
      ids: { enterpriseGlobalId, ...question.ids },
    });
    const { code = '', operation } = answer;
    if (this.config.profile.taught(operation.module, code) === undefined) this.findings.met(answer);
    if (answer.kind === 'refused') this.refusals.push(answer);
    return answer;
  }

  /**
   * Makes the first read of a module. It tries one form of the credentials after the other until the platform accepts one, which stays in
   * use. The form in the gateway's settings is the first one. Each of `forms` has values for the same readings.
   */
  async firstRead(name: OperationName, forms: readonly KnownReadings[], decode: Decode): Promise<Answer> {
    const { profile } = this.config;
    const before = profile.with({});
    const names = Object.keys(forms[0] ?? {}) as ReadingName[];
    const toldOf = (form: KnownReadings) =>
      names.filter((each) => form[each] === (profile.of(each) ?? plainReadings[each])).length;
    let answer: Answer | undefined;
    for (const form of forms.toSorted((one, other) => toldOf(other) - toldOf(one))) {
      profile.replace(profile.with(form));
      answer = await this.ask(name, { asItIs: true });
      if (!this.#refusesCredentials(answer)) break;
      profile.replace(before);
    }
    // A refusal of every form may be an accident, which the usual read repeats.
    const last = answer?.kind === 'success' ? answer : await this.ask(name);
    this.#taken(last, decode);
    if (last.kind === 'success')
      for (const reading of names)
        this.findings.found(reading, profile.of(reading) ?? plainReadings[reading]);
    return last;
  }

  #refusesCredentials({ kind, code = '', status, operation, words }: Answer): boolean {
    if (kind === 'success') return false;
    const isOfCredentials =
      upstreamCodes.get(code)?.refuses !== undefined ||
      this.config.profile.taught(operation.module, code) === 'credentials';
    return isOfCredentials || status === 401 || /nonce/i.test(words);
  }

  /** Makes a read that the gateway makes for callers. It should succeed and conform to the interface. */
  async read(name: OperationName, question: Question, decode: Decode): Promise<Answer> {
    const answer = await this.ask(name, question);
    this.#taken(answer, decode);
    return answer;
  }

  #taken(answer: Answer, decode: Decode): void {
    this.findings.read(answer);
    this.decode(answer, decode);
  }

  /** Notes how a success departs from the interface. */
  decode({ operation, kind, data }: Answer, decode: Decode): void {
    if (kind !== 'success') return;
    const notes = new ContractNotes();
    try {
      decode(data, notes);
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error;
      this.findings.remark(`${operation.name}: the gateway cannot read the answer: ${error.message}.`, true);
    }
    this.findings.note(operation, notes);
  }
}
