import { problemDefinition, type ProblemSlug } from '../../problem/catalogue.ts';
import { operationList, operations } from '../operations.ts';
import meanings from './code-meanings.json' with { type: 'json' };
import { type UpstreamCode, upstreamCodes } from './upstream-codes.ts';

/** A code of the platform's interface, explained for a person who looks it up. */
interface ExplainedCode {
  readonly code: string;
  /** The statement of the interface about the code, in our words. */
  readonly meaning: string;
  /** The problem that the caller usually gets. Null if there is none. */
  readonly problem: ProblemSlug | null;
  readonly status: number;
  /** Our operations for which the interface has the code. Empty if every operation has it. */
  readonly operations: string[];
  readonly handling: string;
}

/** Returns every code of the interface except that of a success. */
export function explainedCodes(): ExplainedCode[] {
  return Object.entries(meanings).map(([code, meaning]) => {
    const known = upstreamCodes.get(code);
    if (!known) return { code, meaning, ...partial(code) };
    const { slug, of } = known;
    const ids = of.map((name) => operations[name].operationId);
    const [status] = problemDefinition(slug).statuses;
    return { code, meaning, problem: slug, status, operations: ids, handling: handlingOf(known, status) };
  });
}

function partial(code: string): Omit<ExplainedCode, 'code' | 'meaning'> {
  const ids = operationList.filter(({ partialCode }) => partialCode === code).map((each) => each.operationId);
  const handling =
    'This is not a failure: the answer is 207 and says for each row whether the member was added, and if not, why.';
  return { problem: null, status: 207, operations: ids, handling };
}

function handlingOf({ slug, speaks, field, transient, refuses }: UpstreamCode, status: number): string {
  const answer = `${status} \`${slug}\``;
  if (transient)
    return (
      `The gateway sends a read once more; if that fails too, the answer is ${answer}. It never sends a write again, although the platform ` +
      'asks for it: the answer is 502 `outcome-unknown`.'
    );
  switch (refuses) {
    case 'token':
      return `The gateway gets another token and sends the request once more; if the platform refuses that too, the answer is ${answer}.`;
    case 'userToken':
      return (
        'The gateway gets another token of the user and sends the request once more; if the platform refuses that too, the answer is ' +
        `${answer}, or 401 \`session-expired\` if the request has a session.`
      );
    case 'nonce':
      return (
        `The gateway sends a read once more with a new nonce; if the platform refuses that too, the answer is ${answer}. ` +
        'It does not send a write again, whose `outcome` is then `unknown`.'
      );
    default:
  }
  if (slug === 'outcome-unknown')
    return `${answer}: the code does not say whether something was done, so the gateway does not send the request again.`;
  if (!speaks) return `${answer}: nothing was done.`;
  const place = field === undefined ? '' : ', and `errors` says where the fault is';
  return `${answer}: nothing was done. \`detail\` has the words of the platform${place}.`;
}
