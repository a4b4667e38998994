import type { Readings } from '../config/readings.ts';
import { isWhole } from '../member/mobile-number.ts';
import { isJsonText } from '../shared/json.ts';
import type { Answer } from './platform.ts';
import type { Answers, Keyword } from './answers.ts';
import { emptyLists } from './list-questions.ts';
import { countOf, flagOf, idOf, objectOf, type Row, rowsOf } from './values.ts';

export function firstPage({ member }: Answers): 0 | 1 | undefined {
  return member?.pageZero && member.pageOne ? firstOf(member.pageZero, member.pageOne) : undefined;
}

/**
 * Compares page 0 and page 1. If a platform begins with 0, its page 0 shows a member who is missing from page 1, or it returns page 0
 * instead of page 1.
 */
export function firstOf(pageZero: Answer, pageOne: Answer): 0 | 1 | undefined {
  const [first] = rowsOf(pageZero);
  const { pageNum, isFirstPage } = objectOf(pageOne);
  if (first && countOf(pageNum) === 0) return 0;
  // The platform shows page 1 for both numbers. Its members may differ, because one may have joined between the two calls.
  if (countOf(pageNum) === 1 && countOf(objectOf(pageZero)['pageNum']) === 1) return 1;
  // Members may have moved between the two calls.
  if (flagOf(isFirstPage) === true) return 1;
  const isAlsoOnOne = rowsOf(pageOne).some(({ globalId }) => idOf(globalId) === idOf(first?.['globalId']));
  if (first && pageOne.kind !== 'failed' && !isAlsoOnOne) return 0;
  return rowsOf(pageOne).length > 0 && pageZero.kind !== 'failed' ? 1 : undefined;
}

/** Tells whether the list shows the mobile numbers with which members recover their passwords. */
export function mobiles({ member }: Answers): 'shown' | 'masked' | 'absent' | undefined {
  const rows = rowsOf(member?.firstPage);
  const numbers = rows.flatMap(({ passwordMobile }) => idOf(passwordMobile) ?? []);
  if (!numbers.every(isWhole)) return 'masked';
  if (numbers.length > 0) return 'shown';
  return rows.length > 0 && !rows.some((row) => 'passwordMobile' in row) ? 'absent' : undefined;
}

/** Finds a deleted member in the list. A list without one shows nothing, because possibly no member was deleted. */
export function deletedMembers({ member }: Answers): 'listed' | undefined {
  return rowsOf(member?.firstPage).some(({ deleted }) => flagOf(deleted) === true) ? 'listed' : undefined;
}

/** Finds out what a keyword matches: any part of name and account, their beginning, the whole of them, or accounts only. */
export function keyword(answers: Answers): 'part' | 'beginning' | 'whole' | 'account' | undefined {
  const { keywords } = answers.member ?? {};
  const nullIsEmpty = emptyLists(answers) === 'null';
  const hits = (each: Keyword) => keywords && isHit(keywords.of, keywords.asked.get(each), nullIsEmpty);
  if (hits('name') === true) {
    if (hits('inner') === true) return 'part';
    if (hits('inner') === false && hits('beginning') === true) return 'beginning';
    return hits('beginning') === false ? 'whole' : undefined;
  }
  return hits('name') === false && hits('account') === true ? 'account' : undefined;
}

/** The parts of a member whose keyword finds the member, or does not, under each value of the reading. */
const HITS: Readonly<Record<Readings['keyword'], Partial<Record<Keyword, boolean>>>> = {
  part: { name: true, inner: true },
  beginning: { name: true, inner: false, beginning: true },
  whole: { name: true, inner: false, beginning: false },
  account: { name: false, account: true },
};

/** True if a keyword has another result than under this value. */
export function contradictsKeyword(answers: Answers, value: Readings['keyword']): boolean {
  const { keywords } = answers.member ?? {};
  const nullIsEmpty = emptyLists(answers) === 'null';
  return Object.entries(HITS[value]).some(([each, expected]) => {
    const hit = keywords && isHit(keywords.of, keywords.asked.get(each as Keyword), nullIsEmpty);
    return hit !== undefined && hit !== expected;
  });
}

/** True if the results of a keyword do not match it. A platform that ignores keywords shows all members. */
export function unfiltered({ member }: Answers): boolean {
  const { of, asked } = member?.keywords ?? {};
  const name = textOf(of?.['name']);
  const has = (value: unknown) => textOf(value).includes(name);
  return rowsOf(asked?.get('name')).some((row) => !has(row['name']) && !has(row['userName']));
}

/**
 * Finds out how the code of the enterprise is appended to an account, which consists of letters and digits. A code without a separator
 * cannot be recognised.
 */
export function accountSuffix({ member }: Answers): 'separated' | 'dotted' | undefined {
  const names = rowsOf(member?.firstPage).flatMap(({ userName }) => idOf(userName) ?? []);
  const marks = new Set(names.map((name) => suffixOf(name.replace(/^[A-Za-z0-9]*/, ''))));
  const [mark] = marks;
  return marks.size === 1 && mark !== 'joined' ? mark : undefined;
}

/** `tail` is the text after the account. Undefined if there is none, or if its form is unknown. */
export function suffixOf(tail: string): 'separated' | 'dotted' | 'joined' | undefined {
  if (tail.startsWith('@')) return 'separated';
  if (tail.startsWith('.')) return 'dotted';
  return /^[A-Za-z0-9]/.test(tail) ? 'joined' : undefined;
}

/** Undefined if the answer does not show it, because it was refused, or because the result has more pages. */
function isHit(member: Row, answer: Answer | undefined, nullIsEmpty: boolean): boolean | undefined {
  const page = objectOf(answer);
  if (!Array.isArray(page['list'])) return page['list'] === null && nullIsEmpty ? false : undefined;
  const rows = rowsOf(answer);
  if (rows.some(({ globalId }) => idOf(globalId) === idOf(member['globalId']))) return true;
  const total = countOf(page['total']);
  const isComplete =
    total === undefined
      ? rows.length === 0 || flagOf(page['isLastPage']) === true || flagOf(page['hasNextPage']) === false
      : rows.length >= total;
  return isComplete ? false : undefined;
}

function textOf(value: unknown): string {
  return isJsonText(value) ? value.toLowerCase() : '';
}
