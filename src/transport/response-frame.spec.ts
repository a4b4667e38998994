import { describe, expect, it } from '@jest/globals';
import { ResponseFrame } from './response-frame.ts';

const KIB = 1_024;
const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';

function followed(text: string, pieces = 1): ResponseFrame {
  const frame = new ResponseFrame();
  const length = Math.ceil(text.length / pieces);
  for (let at = 0; at < text.length; at += length) frame.follow(Buffer.from(text.slice(at, at + length)));
  return frame;
}
const chunksOf = (size: number, count: number) =>
  `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`.repeat(count);

describe('a response whose frame is too long', () => {
  it.each<[string, string]>([
    ['interim responses', 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(2_000)],
    ['a reason phrase', `HTTP/1.1 200 ${'x'.repeat(66 * KIB)}`],
    ['the reason phrase of an interim response', `HTTP/1.1 103 ${'x'.repeat(66 * KIB)}`],
    ['empty lines before the status line', '\r\n'.repeat(40 * KIB)],
    ['the fields of its head', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20 * KIB)}`],
    ['the extension of a chunk', `${HEAD}1;${'x'.repeat(66 * KIB)}`],
    ['extensions of many chunks', HEAD + `1;${'x'.repeat(100)}\r\nx\r\n`.repeat(1_000)],
    ['zeros before the size of a chunk', HEAD + '0'.repeat(66 * KIB)],
    ['chunks of one byte', HEAD + chunksOf(1, 20 * KIB)],
    ['trailers', `${HEAD}0\r\n${'x: y\r\n'.repeat(20 * KIB)}`],
    [
      'a folded field',
      `HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n1;${'x'.repeat(66 * KIB)}`,
    ],
  ])('has too many bytes in %s', (_, text) => {
    expect([1, 7, 1_000].map((pieces) => followed(text, pieces).isTooLong)).toEqual([true, true, true]);
  });
});

describe('a response whose frame is not', () => {
  const long = 'x'.repeat(1_024 * KIB);
  it.each<[string, string]>([
    ['a large body', `HTTP/1.1 200 OK\r\ncontent-length: ${long.length}\r\n\r\n${long}`],
    ['a body up to the end of the connection', `HTTP/1.1 200 OK\r\n\r\n${long}`],
    ['a body that looks like heads', `HTTP/1.1 200 OK\r\n\r\n${'HTTP/1.1 103 \r\n\r\n'.repeat(10 * KIB)}`],
    ['one large chunk', HEAD + chunksOf(1_024 * KIB, 1)],
    ['many small chunks', HEAD + chunksOf(16, 64 * KIB)],
    ['a chunk that looks like extensions', `${HEAD}${chunksOf(10, 1)}a;b\r\n1;2;3;4;5;\r\n0\r\n\r\n`],
    ['some interim responses', `${'HTTP/1.1 103 \r\n\r\n'.repeat(100)}${HEAD}${chunksOf(100, 10)}0\r\n\r\n`],
  ])('may have %s', (_, text) => {
    expect([1, 7, 1_000].map((pieces) => followed(text, pieces).isTooLong)).toEqual([false, false, false]);
  });

  it('is over after its last chunk, and after the head of every other one', () => {
    const whole = `${HEAD}${chunksOf(20, 3)}0\r\n\r\n`;
    for (const pieces of [1, 5, whole.length]) {
      expect(followed(whole, pieces).mayBeOver).toBe(true);
      expect(followed(whole.slice(0, -1), pieces).mayBeOver).toBe(false);
    }
    expect(followed('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n').mayBeOver).toBe(true);
    expect(followed('HTTP/1.1 100 Continue\r\n\r\n').mayBeOver).toBe(false);
  });
});
