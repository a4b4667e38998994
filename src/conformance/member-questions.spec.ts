import { expect, it } from '@jest/globals';
import { firstOf, suffixOf } from './member-questions.ts';
import type { Answer } from './platform.ts';

it.each([
  ['@harbour', 'separated'],
  ['.harbour', 'dotted'],
  ['harbour', 'joined'],
  ['', undefined],
  ['_harbour', undefined],
])('an account followed by %j has its suffix %s', (tail, suffix) => {
  expect(suffixOf(tail)).toBe(suffix);
});

const page = (pageNum: number | undefined, ...ids: string[]) =>
  ({ kind: 'success', data: { pageNum, list: ids.map((globalId) => ({ globalId })) } }) as unknown as Answer;

it.each<[string, Answer, Answer, 0 | 1]>([
  ['shows other members on page 0', page(undefined, 'a'), page(undefined, 'b'), 0],
  ['shows page 0 in place of page 1', page(0, 'a'), page(0, 'a'), 0],
  ['shows page 1 in place of page 0', page(1, 'a'), page(1, 'a'), 1],
  ['does so while somebody joins', page(1, 'a'), page(1, 'b'), 1],
  ['counts its page 0 as the first one', page(1, 'a'), page(2, 'b'), 0],
])('the first page of a platform that %s', (_, zero, one, first) => {
  expect(firstOf(zero, one)).toBe(first);
});
