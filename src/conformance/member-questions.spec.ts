import { expect, it } from '@jest/globals';
import { suffixOf } from './member-questions.ts';

it.each([
  ['@harbour', 'separated'],
  ['.harbour', 'dotted'],
  ['harbour', 'joined'],
  ['', undefined],
  ['_harbour', undefined],
])('an account followed by %j has its suffix %s', (tail, suffix) => {
  expect(suffixOf(tail)).toBe(suffix);
});
