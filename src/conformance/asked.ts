import type { UpstreamConfig } from '../config/app-config.ts';
import { freshHex } from '../shared/random-bytes.ts';
import { ContractNotes } from '../upstream/gaps.ts';
import type { MemberList } from '../upstream/member-list.ts';
import type { OperationName } from '../upstream/operations.ts';
import { ContractViolation } from '../upstream/upstream-failure.ts';
import type { Findings } from './findings.ts';
import type { Answer, Platform, Question } from './platform.ts';

/** No id of a platform begins so. */
export const UNKNOWN_ID = `conformance-unknown-${freshHex(4)}`;

/** Whose data is asked for. */
interface Target {
  readonly enterpriseGlobalId: string;
  readonly channelCode: string | undefined;
}

type Decode = (data: unknown, notes: ContractNotes) => unknown;

/** What is asked of whom, with what was found. Every question goes through here, so that no code is missed. */
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

  /** A question whose refusal is an answer too. */
  async ask(name: OperationName, question: Question = {}): Promise<Answer> {
    const { enterpriseGlobalId } = this.target;
    const answer = await this.platform.ask(name, {
      ...question,
      ids: { enterpriseGlobalId, ...question.ids },
    });
    this.findings.met(answer);
    if (answer.kind === 'refused') this.refusals.push(answer);
    return answer;
  }

  /** A read that the gateway makes for callers: it should come, and be as the interface says. */
  async read(name: OperationName, question: Question, decode: Decode): Promise<Answer> {
    const answer = await this.ask(name, question);
    this.findings.read(answer);
    this.decode(answer, decode);
    return answer;
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
