import type { Answer } from './platform.ts';
import type { TokenLook } from './token-questions.ts';
import type { Row } from './values.ts';

/** The gateway asks for no larger pages. */
export const MAX_PAGE_SIZE = 200;

/** The same list with a filter, and the value that the filter had. */
export interface Filtered {
  readonly value: string;
  readonly answer: Answer;
}

export interface Customers {
  readonly all: Answer;
  readonly onlyDefault: Answer;
  /** The customers of the enterprise `of` by the number of one of them; undefined where no customer has a number. */
  readonly ofOne: (Filtered & { readonly of: string | undefined }) | undefined;
}

/** The part of a member that is asked for as a keyword: the name, the name without its first and last letters, or its last one, or the account. */
export type Keyword = 'name' | 'inner' | 'beginning' | 'account';

export interface Keywords {
  /** The member. */
  readonly of: Row;
  readonly asked: ReadonlyMap<Keyword, Answer>;
}

export interface MemberAnswers {
  readonly refreshTokens: 'taken' | 'refused' | 'absent' | undefined;
  readonly assetNums: Answer;
  readonly lentLocks: Answer;
  readonly products: readonly Answer[];
  /** The page of members with this number. */
  readonly pageZero: Answer;
  readonly pageOne: Answer;
  /** The first page of members, by the size that was asked for. */
  readonly pages: ReadonlyMap<number, Answer>;
  /** The first page that came; undefined where none did. */
  readonly firstPage: Answer | undefined;
  /** The page after it in the largest size; undefined where the first page says how many members there are, or was refused. */
  readonly nextPage: Answer | undefined;
  readonly pageBeyond: Answer | undefined;
  /** The page for a keyword that no member has; undefined where no page came. */
  readonly membersOfNothing: Answer | undefined;
  readonly keywords: Keywords | undefined;
  readonly wrongUser: Answer;
  readonly withoutUser: Answer;
  /** The token endpoint's answer to a user who does not exist. */
  readonly unknownUser: TokenLook | undefined;
}

/** All that was read of the platform. A question looks only at these. */
export interface Answers {
  /** The first response with a token. */
  readonly token: TokenLook | undefined;
  readonly assets: Answer;
  readonly assetsOfNobody: Answer;
  /** The assets that have an extension; undefined where no asset has one. */
  readonly assetsExtended: Filtered | undefined;
  /** The assets that have an extension of which no asset has the code. */
  readonly assetsOfNothing: Filtered;
  /** A call with a nonce that an earlier call had. */
  readonly nonceAgain: Answer;
  readonly customersWithoutChannel: Answer;
  /** Undefined without `--channel`. */
  readonly customers: Customers | undefined;
  /** Undefined without a user. */
  readonly member: MemberAnswers | undefined;
  readonly refusals: readonly Answer[];
}
