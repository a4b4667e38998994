import type { Readings } from '../config/readings.ts';
import { placesOf, type TokenAnswer } from '../token/token-answer.ts';
import { idOf } from './values.ts';

/** The form of a response of the token endpoint. It does not contain a token. */
export interface TokenLook {
  readonly status: number;
  /** The place of the token. Undefined if the response has none. */
  readonly tokenIn: 'plain' | 'data' | undefined;
  readonly type: unknown;
  /** The error of a refusal in the form of OAuth. */
  readonly error: string | undefined;
  /** The code and the words of a refusal in the platform's own form. */
  readonly code: string | undefined;
  readonly message: string;
}

export function lookOf({ status, body }: TokenAnswer): TokenLook {
  const [top = {}, data = {}] = placesOf(body);
  const has = (row: typeof top) => idOf(row['access_token']) !== undefined;
  const tokenIn = has(top) ? 'plain' : has(data) ? 'data' : undefined;
  return {
    status,
    tokenIn,
    type: (tokenIn === 'data' ? data : top)['token_type'] ?? undefined,
    error: idOf(top['error']),
    code: idOf(top['code']),
    message: idOf(top['message']) ?? '',
  };
}

export function tokenEnvelope(look: TokenLook | undefined): Readings['tokenEnvelope'] | undefined {
  return look?.tokenIn;
}

export function tokenStatus(look: TokenLook | undefined): Readings['tokenStatus'] | undefined {
  return look?.tokenIn && (['200', '201'] as const).find((each) => each === String(look.status));
}

export function tokenType(look: TokenLook | undefined): Readings['tokenType'] | undefined {
  if (!look?.tokenIn) return undefined;
  if (look.type === undefined) return 'absent';
  return (['Bearer', 'bearer'] as const).find((each) => each === look.type);
}

export function tokenRefusals(look: TokenLook | undefined): Readings['tokenRefusals'] | undefined {
  if (!look || look.tokenIn) return undefined;
  if (look.status >= 400 && look.status < 500 && look.error !== undefined) return 'oauth';
  if (look.code === undefined) return undefined;
  return (['200', '299'] as const).find((each) => each === String(look.status));
}
