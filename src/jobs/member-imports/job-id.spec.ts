import { expect, it } from '@jest/globals';
import { jobIdOf } from './imports.service.ts';

it('the id of a job never begins with a dash, which a command line takes for an option', () => {
  const ids = Array.from({ length: 256 }, (_, first) => jobIdOf(Buffer.alloc(32, first)));
  expect(ids.filter((id) => !/^\w[\w-]{21}$/.test(id))).toEqual([]);
});
