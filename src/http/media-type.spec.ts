import { expect, it } from '@jest/globals';
import { utf8Type } from './media-type.ts';

it.each([
  'application/json',
  'Application/JSON',
  ' application/json ',
  'application/json;charset=utf8',
  'application/json; charset="UTF-8"',
  String.raw`application/json;charset="utf\-8"`,
  'application/json ;\tcharset = utf-8 ; ',
  'application/json;; version=1; CHARSET=Utf-8;x="a;b, \\" c"',
  'application/json; charset=us-ascii',
])('reads %j as JSON in UTF-8', (header) => {
  expect(utf8Type(header)).toBe('application/json');
});

it.each([
  '',
  'json',
  'application/',
  'application/json; charset=gbk',
  'application/json; charset=utf-8; charset=gbk',
  'application/json; charset=""',
  'application/json; charset',
  'application/json; charset=',
  'application/json; charset="utf-8',
  'application/json charset=utf-8',
  'application/json, text/plain',
])('does not take %j', (header) => {
  expect(utf8Type(header)).toBeUndefined();
});

it('reads a header that makes careless expressions slow in no time', () => {
  const before = process.threadCpuUsage();
  for (const part of [' ', '; ', ';a', '; a', ';a=', ';a="', ';a="\\', 'a', '=', '\t;'])
    expect(utf8Type(`application/json${part.repeat(16_384)}§`) === undefined).toBe(true);
  // A naive expression would take minutes.
  expect(process.threadCpuUsage(before).user).toBeLessThan(2_000_000);
});
