import { expect, it } from '@jest/globals';
import { readingNames, readings } from '../config/readings.ts';
import type { Answers } from './answers.ts';
import { questions, triedFirst } from './questions.ts';

it('each reading that is asked by reading has a question', () => {
  const asked = readingNames.filter((name) => readings[name].asked === 'reads');
  expect(asked.filter((name) => !(name in questions) && !triedFirst.includes(name))).toEqual([]);
});

const list = (data: unknown) => ({ kind: 'success', data });

it.each([
  [[1_767_600_000_000], 'ms'],
  [[1_767_600_000], 's'],
  [[1_000, 1_767_600_000_000], 'ms'],
  [[1_000], undefined],
  [[0, null], undefined],
  [[1_767_600_000, 1_767_600_000_000], undefined],
])('the times %j are in %s', (times, unit) => {
  const assets = list(times.map((createTime) => ({ createTime })));
  expect(questions.timestampUnit?.({ assets } as Answers)).toBe(unit);
});

it('the unit of times is not known where the time of a change contradicts the time of the creation', () => {
  const assets = list([{ createTime: 1_767_600_000, updateTime: 1_767_600_000_000 }]);
  expect(questions.timestampUnit?.({ assets } as Answers)).toBeUndefined();
});

it.each([
  [null, null, 'null'],
  [null, undefined, undefined],
  [undefined, null, 'null'],
  [[], undefined, 'list'],
  [null, [], undefined],
])('empty lists %j of assets and %j of members are read as %s', (assets, members, form) => {
  const came = (data: unknown) => ({ kind: data === undefined ? 'failed' : 'success', data });
  const answers = {
    assets: list([{ id: '1' }]),
    assetsOfNothing: { value: 'x', answer: came(assets) },
    member: {
      firstPage: list({ list: [{ globalId: 'm' }] }),
      membersOfNothing: came(members === undefined ? undefined : { list: members, total: 0 }),
    },
  };
  expect(questions.emptyLists?.(answers as unknown as Answers)).toBe(form);
});

it.each([
  [[], 'empty'],
  [null, 'empty'],
  [undefined, undefined],
  [{}, undefined],
  [[{ id: '1' }], undefined],
])('the assets %j of an unknown enterprise are read as %s', (data, value) => {
  const answers = { assets: list([{ id: '1' }]), assetsOfNobody: list(data) };
  expect(questions.unknownEnterprise?.(answers as Answers)).toBe(value);
});

it.each([
  [[], 'assets'],
  [null, 'assets'],
  [undefined, undefined],
  [{}, undefined],
])('a filter that answers %j leaves out %s', (data, value) => {
  const assets = list([{ id: '1', assetExtends: [{ extendCode: 'site' }] }]);
  const answers = { assets, assetsOfNothing: { value: 'x', answer: list(data) } };
  expect(questions.extendCode?.(answers as Answers)).toBe(value);
});

it.each([
  [[], 'empty'],
  [null, 'empty'],
  [undefined, undefined],
])('a page beyond the end with the list %j is read as %s', (members, value) => {
  const page = (items: unknown) => list({ list: items });
  const member = { firstPage: page([{ globalId: 'm' }]), pageBeyond: page(members) };
  expect(questions.pagesBeyond?.({ member } as unknown as Answers)).toBe(value);
});
