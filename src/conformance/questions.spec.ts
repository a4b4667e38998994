import { expect, it } from '@jest/globals';
import { readingNames, readings } from '../config/readings.ts';
import { questions, triedFirst } from './questions.ts';

it('each reading that is asked by reading has a question', () => {
  const asked = readingNames.filter((name) => readings[name].asked === 'reads');
  expect(asked.filter((name) => !(name in questions) && !triedFirst.includes(name))).toEqual([]);
});
