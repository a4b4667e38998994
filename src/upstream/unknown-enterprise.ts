import { freshBytes } from '../shared/random-bytes.ts';
import type { CallContext } from './call-context.ts';
import { meaningOf } from './problems/upstream-codes.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import type { UpstreamClient } from './upstream.client.ts';

const EVERYTHING: ReadonlySet<string> = new Set(['*']);
const ALL_GRANTS = { enterprises: EVERYTHING, channels: EVERYTHING, users: EVERYTHING };
/** A shorter id might be that of an enterprise. */
const MIN_LENGTH = 8;

/**
 * Of an enterprise that it does not know, a platform sends an empty list of assets, or it refuses, by any code and in any words. Callers get
 * the empty list in both cases. The gateway recognises such a refusal by asking for an enterprise that nobody has: the platform refuses it
 * with the same code in the same words. Every other refusal stays one, such as that of an enterprise that is blocked, which may have assets.
 */
export function nothingIfUnknown(
  upstream: UpstreamClient,
  call: CallContext,
  enterpriseGlobalId: string,
): (error: unknown) => Promise<readonly never[]> {
  return async (error) => {
    if (!mayMeanTheEnterprise(error)) throw error;
    const unknown = shapedLike(enterpriseGlobalId);
    const own = { ...call, caller: { ...call.caller, grants: ALL_GRANTS } };
    const request = { ids: { enterpriseGlobalId: unknown } };
    const refusal = await upstream.call('listAssets', own, request, () => undefined).catch(asFailure);
    if (!refusal || wordsOf(refusal, unknown) !== wordsOf(error, enterpriseGlobalId)) throw error;
    return [];
  };
}

function asFailure(error: unknown): UpstreamFailure | undefined {
  return mayMeanTheEnterprise(error) ? error : undefined;
}

/** A refusal of the request, or one that nobody knows. */
function mayMeanTheEnterprise(error: unknown): error is UpstreamFailure {
  if (!(error instanceof UpstreamFailure) || error.kind !== 'refused') return false;
  const known = meaningOf(error.operation, error.details);
  return known === undefined || known.slug === 'upstream-rejected';
}

/** Code and words of a refusal, without the id, and without numbers that may be those of one request, such as a time. */
function wordsOf({ details }: UpstreamFailure, id: string): string {
  const { code, message = '' } = details;
  const forms = [id, encodeURIComponent(id)].map((form) => RegExp.escape(form)).join('|');
  const withoutId = message.replaceAll(new RegExp(`(?<![A-Za-z\\d])(?:${forms})(?![A-Za-z\\d])`, 'g'), '#');
  return `${code} ${withoutId.replaceAll(/[\da-f]*\d[\da-f]*/gi, '#')}`;
}

/** An id of the same form: a platform may refuse another form in other words. */
function shapedLike(id: string): string {
  const shape = id.repeat(Math.ceil(MIN_LENGTH / id.length));
  const random = freshBytes(shape.length);
  let index = 0;
  return shape
    .replaceAll(/[a-z]/g, () => letter(random, index++, 'a'))
    .replaceAll(/[A-Z]/g, () => letter(random, index++, 'A'))
    .replaceAll(/\d/g, () => String(1 + ((random[index++] ?? 0) % 9)));
}

function letter(random: Uint8Array, index: number, first: 'a' | 'A'): string {
  return String.fromCharCode(first.charCodeAt(0) + ((random[index] ?? 0) % 26));
}
