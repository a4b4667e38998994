import type { Answer } from './platform.ts';
import type { TokenLook } from './token-questions.ts';
import type { Row } from './values.ts';

/** The largest page that the gateway requests. */
export const MAX_PAGE_SIZE = 200;

/** The same list with a filter, and the value of the filter. */
export interface Filtered {
  readonly value: string;
  readonly answer: Answer;
}

export interface Customers {
  readonly all: Answer;
  readonly onlyDefault: Answer;
  /** The customers of the enterprise `of`, by the number of one of them. Undefined if no customer has a number. */
  readonly ofOne: (Filtered & { readonly of: string | undefined }) | undefined;
}

/**
 * The part of a member that is sent as a keyword: the name, the name without its first and last letters, or without its last one, or the
 * account.
 */
export type Keyword = 'name' | 'inner' | 'beginning' | 'account';

export interface Keywords {
  /** The member whose parts are the keywords. */
  readonly of: Row;
  readonly asked: ReadonlyMap<Keyword, Answer>;
}

export interface MemberAnswers {
  readonly refreshTokens: 'taken' | 'refused' | 'absent' | undefined;
  readonly assetNums: Answer;
  readonly lentLocks: Answer;
  readonly products: readonly Answer[];
  readonly pageZero: Answer;
  readonly pageOne: Answer;
  /** The first page of members, by the requested size. If a size was asked twice, a page that arrived. */
  readonly pages: ReadonlyMap<number, Answer>;
  /** The largest size that the platform does not refuse. Undefined if it refuses none, or if the answers do not show it. */
  readonly largestSize?: number | undefined;
  /** The first page that arrived. Undefined if none did. */
  readonly firstPage?: Answer;
  /** The page after it in the largest size. Undefined if the first page is full, has all members by its own numbers, or was refused. */
  readonly nextPage?: Answer;
  readonly pageBeyond?: Answer;
  /** The page for a keyword that no member has. Undefined if no page arrived. */
  readonly membersOfNothing?: Answer;
  readonly keywords?: Keywords;
  readonly wrongUser: Answer;
  readonly withoutUser: Answer;
  /** The token endpoint's answer to a user who does not exist. */
  readonly unknownUser: TokenLook | undefined;
}

/** Everything that was read from the platform. A question looks only at these answers. */
export interface Answers {
  /** The first response with a token. */
  readonly token: TokenLook | undefined;
  readonly assets: Answer;
  readonly assetsOfNobody: Answer;
  /** The assets that have an extension. Undefined if no asset has one. */
  readonly assetsExtended: Filtered | undefined;
  /** The assets that have an extension whose code no asset has. */
  readonly assetsOfNothing: Filtered;
  /** A call with the nonce of an earlier call. */
  readonly nonceAgain: Answer;
  readonly customersWithoutChannel: Answer;
  /** The customers. Undefined without `--channel`. */
  readonly customers: Customers | undefined;
  /** The answers about members. Undefined without a user. */
  readonly member: MemberAnswers | undefined;
  readonly refusals: readonly Answer[];
}
