import { expect, it } from '@jest/globals';
import type { Grants } from '../request/call-context.ts';
import { rowStream, whileGranted } from './row-stream.ts';

async function* rowsOf(count: number, enterpriseAt: (at: number) => string) {
  for (let at = 1; at <= count; at++) yield { enterprise: enterpriseAt(at), at };
}
const grantsOf = (...enterprises: string[]): Grants => ({
  ...{ enterprises: new Set(enterprises), channels: new Set(), users: new Set() },
});

async function streamed(given: readonly (Grants | undefined)[], enterpriseAt = (_: number) => 'one') {
  let looks = 0;
  const rows = whileGranted(
    rowsOf(250, enterpriseAt),
    () => Promise.resolve(given[Math.min(looks++, given.length - 1)]),
    ({ enterprise }) => enterprise,
  );
  const stream = (
    await rowStream({ accept: 'text/csv', requestId: 'req-1' }, ['enterprise', 'at'], rows)
  ).getStream();
  const chunks: string[] = [];
  const end = await (async () => {
    for await (const chunk of stream) chunks.push(String(chunk));
  })().then(
    () => 'ended',
    () => 'cut',
  );
  const lines = chunks.join('').trim().split('\r\n');
  return { end, rows: lines.filter((line) => /^\w+,\d+$/.test(line)).length, last: lines.at(-1) };
}

it('a stream of rows has all of them where the caller keeps its rights', async () => {
  expect(await streamed([grantsOf('*')])).toEqual({ end: 'ended', rows: 250, last: 'one,250' });
});

it.each([
  ['its entry', undefined],
  ['the enterprise', grantsOf('another')],
])('a stream of rows ends as incomplete once the caller has lost %s', async (_, left) => {
  expect(await streamed([grantsOf('one'), left])).toEqual({
    end: 'cut',
    rows: 100,
    last: expect.stringMatching(/^#incomplete,forbidden,/),
  });
});

it('a stream of rows ends at a row of an enterprise that is not granted any more', async () => {
  const enterpriseAt = (at: number) => (at > 120 ? 'two' : 'one');
  expect(await streamed([grantsOf('one', 'two'), grantsOf('one')], enterpriseAt)).toMatchObject({
    end: 'cut',
    rows: 120,
  });
});
