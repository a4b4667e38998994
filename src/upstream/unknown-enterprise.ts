import { randomUUID } from 'node:crypto';
import { freshBytes } from '../shared/random-bytes.ts';
import { ALL_GRANTS, type CallContext } from '../request/call-context.ts';
import { meaningOf } from './problems/upstream-codes.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import type { UpstreamClient } from './upstream.client.ts';

/** The fewest random letters and digits of an id that belongs to no enterprise. With fewer, it might be that of one by chance. */
const MIN_RANDOM = 8;
const LETTER_OR_DIGIT = /[\p{L}\p{N}]/gu;

/**
 * Returns an empty list if the platform does not know the enterprise. A platform answers such a request with an empty list, or refuses it
 * by any code and in any words. Callers get the empty list in both cases. The gateway recognises such a refusal by a request for an
 * enterprise that does not exist: the platform refuses it with the same code in the same words. In addition, a code that is
 * documented or taught has to come with words that name the enterprise, or the platform has to show the assets of another enterprise at
 * this moment. Otherwise the platform may refuse every call, and name the enterprise of each one. Every other refusal stays a refusal, such
 * as that of an enterprise that is blocked, which may have assets.
 */
export function nothingIfUnknown(
  upstream: UpstreamClient,
  call: CallContext,
  enterpriseGlobalId: string,
): (error: unknown) => Promise<readonly never[]> {
  return async (error) => {
    // The platform knows an enterprise that it showed a moment ago.
    if (!mayMeanTheEnterprise(error) || upstream.served.has(enterpriseGlobalId)) throw error;
    // These calls are the gateway's own, and the log of the caller's request does not include them.
    const caller = { ...call.caller, grants: ALL_GRANTS };
    const own = { ...call, caller, requestId: randomUUID(), authorisedIds: undefined };
    const ask = (id: string) =>
      upstream.call('listAssets', own, { ids: { enterpriseGlobalId: id } }, () => 'served' as const);
    const unknown = shapedLike(enterpriseGlobalId);
    const answer = await ask(unknown).catch(asFailure);
    const isAlike =
      answer instanceof UpstreamFailure && wordsOf(answer, unknown) === wordsOf(error, enterpriseGlobalId);
    if (!isAlike) throw error;
    const known = upstream.served.last;
    const isServing = async () => known !== undefined && (await ask(known).catch(asFailure)) === 'served';
    const isKnown = meaningOf(error.operation, error.details) !== undefined;
    const isProven = (isKnown && names(error, enterpriseGlobalId)) || (await isServing());
    if (!isProven) throw error;
    return [];
  };
}

/** True if the words name the enterprise or the parameter that contains its id. */
function names({ details: { message = '' } }: UpstreamFailure, id: string): boolean {
  return /\benterpriseGlobalId\b/.test(message) || (id.length > 2 && standingAlone(id).test(message));
}

function asFailure(error: unknown): UpstreamFailure | undefined {
  return mayMeanTheEnterprise(error) ? error : undefined;
}

/** True for a refusal of the request, or for an unknown refusal. */
function mayMeanTheEnterprise(error: unknown): error is UpstreamFailure {
  if (!(error instanceof UpstreamFailure) || error.kind !== 'refused') return false;
  const known = meaningOf(error.operation, error.details);
  return known === undefined || known.slug === 'upstream-rejected';
}

/** Returns code and words of a refusal, without the id, and without numbers that may belong to one request, such as a time. */
function wordsOf({ details }: UpstreamFailure, id: string): string {
  const { code, message = '' } = details;
  const withoutId = message.replaceAll(standingAlone(id), '#');
  return `${code} ${withoutId.replaceAll(/[\da-f]*\d[\da-f]*/gi, '#')}`;
}

function standingAlone(id: string): RegExp {
  const forms = [id, encodeURIComponent(id)].map((form) => RegExp.escape(form)).join('|');
  return new RegExp(`(?<![A-Za-z\\d])(?:${forms})(?![A-Za-z\\d])`, 'g');
}

/** Returns an id of the same form, because a platform may refuse another form in other words. */
function shapedLike(id: string): string {
  const changeable = id.match(LETTER_OR_DIGIT)?.length ?? 0;
  const shape =
    changeable === 0 ? id + '0'.repeat(MIN_RANDOM) : id.repeat(Math.ceil(MIN_RANDOM / changeable));
  const random = freshBytes(shape.length);
  let index = 0;
  return shape.replaceAll(LETTER_OR_DIGIT, (replaced) => characterLike(replaced, random[index++] ?? 0));
}

function characterLike(replaced: string, random: number): string {
  if (/\d/.test(replaced)) return String(1 + (random % 9));
  if (/[A-Za-z]/.test(replaced))
    return String.fromCharCode((replaced < 'a' ? 'A' : 'a').charCodeAt(0) + (random % 26));
  // Ids of other scripts are mostly Chinese.
  return String.fromCharCode(0x4e00 + random);
}
