import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { order, read } from '../support/expected.ts';
import { converse } from '../support/raw-client.ts';
import { whenClosed } from '../support/socket.ts';
import { useStack } from '../support/stack.ts';

/** Bytes that proxies in between may read differently (docs/faults.md, row S12). */

const { sandbox, gateway } = useStack({ environment: { DOCS: 'on' } });

const BODY = '{"size":1}';
const CHUNKED = `a\r\n${BODY}\r\n0\r\n\r\n`;
const CHUNKS = 'Transfer-Encoding: chunked\r\n';

/** A request for numbers, with these further header lines. */
function post(
  headers: string,
  body: string,
  line = 'POST /v1/asset-num-reservations HTTP/1.1',
  host = 'Host: a\r\n',
) {
  return `${line}\r\n${host}X-Api-Key: ${gateway.key}\r\nContent-Type: application/json\r\n${headers}\r\n${body}`;
}

const get = (line: string, headers = 'Host: a\r\n') =>
  `${line}\r\n${headers}X-Api-Key: ${gateway.key}\r\n\r\n`;

/** A valid read that an attacker smuggles in behind the rest. */
const smuggled = () => get(`GET ${read.path} HTTP/1.1`);

/** One for each way of being wrong, and each side of what the gateway checks beyond Node's parser. */
const cases: readonly (readonly [what: string, bytes: () => string, status?: number])[] = [
  ['the target *', () => get('GET * HTTP/1.1')],
  ['a length and chunks', () => post(`Content-Length: 10\r\n${CHUNKS}`, CHUNKED)],
  ['two lengths that differ', () => post('Content-Length: 10\r\nContent-Length: 11\r\n', BODY)],
  ['a length with a sign', () => post('Content-Length: +10\r\n', BODY)],
  ['a length beyond all bounds', () => post(`Content-Length: ${'9'.repeat(30)}\r\n`, BODY)],
  ['chunks that are not the last coding', () => post('Transfer-Encoding: chunked, identity\r\n', CHUNKED)],
  ['a coding with a space before its colon', () => post('Transfer-Encoding : chunked\r\n', CHUNKED)],
  ['chunks twice', () => post(`${CHUNKS}${CHUNKS}`, CHUNKED)],
  [
    'chunks in HTTP/1.0',
    () => post(`${CHUNKS}Connection: keep-alive\r\n`, CHUNKED, 'POST /v1/asset-num-reservations HTTP/1.0'),
  ],
  ['lines that end with LF', () => post('Content-Length: 10\r\n', '').replaceAll('\r\n', '\n') + BODY],
  ['a header over two lines', () => post('X-A: b\r\n c\r\nContent-Length: 10\r\n', BODY)],
  ['a space in a header name', () => post('X A: b\r\nContent-Length: 10\r\n', BODY)],
  ['NUL in a header', () => post('X-A: b\0c\r\nContent-Length: 10\r\n', BODY)],
  ['no host', () => post('Content-Length: 10\r\n', BODY, undefined, '')],
  ['two hosts', () => post('Content-Length: 10\r\n', BODY, undefined, 'Host: a\r\nHost: evil.example\r\n')],
  [
    'two tokens',
    () => post('Authorization: Bearer a.b.c\r\nauthorization: Bearer d.e.f\r\nContent-Length: 10\r\n', BODY),
  ],
  ['two types of the body', () => post('content-type: text/plain\r\nContent-Length: 10\r\n', BODY)],
  ['a host that is a path', () => post('Content-Length: 10\r\n', BODY, undefined, 'Host: a/b@c\r\n')],
  ['HTTP/0.9', () => 'GET /health/live\r\n\r\n'],
  ['the preface of HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a whole URL of another host', () => get(`GET http://evil.example${read.path} HTTP/1.1`)],
  ['a whole URL with a name and password', () => get(`GET http://a:b@a${read.path} HTTP/1.1`)],
  ['a URL of another kind', () => get(`GET ftp://a${read.path} HTTP/1.1`)],
  ['a path without a slash', () => get('GET v1/customers HTTP/1.1')],
  ['a fragment behind the path', () => get(`GET ${read.path.split('?')[0]}#?pageSize=1 HTTP/1.1`)],
  ['a fragment in a whole URL', () => get('GET http://a#/v1/customers HTTP/1.1')],
  ['a control character in the path', () => get('GET /v1/customers?channelCode=\x01 HTTP/1.1')],
  ['a read with a body', () => get(`GET ${read.path} HTTP/1.1`, `Host: a\r\nContent-Length: 10\r\n`) + BODY],
  ['a chunk size that overflows', () => post(CHUNKS, `1000000000000000a\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk longer than its size', () => post(CHUNKS, `5\r\n${BODY}\r\n0\r\n\r\n`)],
  ['a chunk extension of 20 kB', () => post(CHUNKS, `a;${'x'.repeat(20_000)}\r\n${BODY}\r\n0\r\n\r\n`), 413],
  ['an expectation of nonsense', () => post('Expect: nonsense\r\nContent-Length: 10\r\n', BODY)],
];

describe('K24 bytes that are not valid HTTP', () => {
  it.each(cases)(
    'S12 %s: one response of 400, the end, and nothing upstream',
    async (_, bytes, status = 400) => {
      const { answers, closed } = await converse(gateway.url, bytes() + smuggled());
      expect(answers).toMatchObject([
        {
          status,
          headers: {
            'content-type': expect.stringMatching(/^application\/problem\+json/),
            connection: 'close',
          },
          body: {
            status,
            code: status === 413 ? 'payload-too-large' : 'validation-failed',
            outcome: 'not_processed',
            requestId: expect.any(String),
          },
        },
      ]);
      expect(closed).toBe(true);
      expect(await sandbox.calls()).toEqual([]);
      const id = String(answers[0]?.body['requestId']);
      const lines = (await gateway.log()).filter((line) => line.includes(id));
      expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
        { event: 'request', operation: 'none', status },
      ]);
    },
  );

  it('S12 the gateway closes a tunnel without a response', async () => {
    const { answers, closed } = await converse(
      gateway.url,
      'CONNECT evil.example:443 HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    expect([answers, closed]).toEqual([[], true]);
  });

  it.each(['websocket', 'h2c'])(
    'S12 the gateway does not upgrade to %s, and serves the request as HTTP',
    async (protocol) => {
      const { answers } = await converse(
        gateway.url,
        get(
          `GET ${read.path} HTTP/1.1`,
          `Host: a\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: ${protocol}\r\nHTTP2-Settings: AAMAAABk\r\n`,
        ),
      );
      expect(answers.map(({ status }) => status)).toEqual([200]);
    },
  );

  it('S12 a whole URL is served as its path, where it names the server of Host', async () => {
    const { pathname, search } = new URL(gateway.url + read.path);
    const bytes = [
      get(`GET http://a${read.path} HTTP/1.1`),
      get(`GET HTTPS://A${pathname}${search} HTTP/1.1`),
      get('GET http://a/openapi.json?x HTTP/1.1'),
      get('GET http://a HTTP/1.1', 'Host: a\r\nConnection: close\r\n'),
    ].join('');
    const { answers } = await converse(gateway.url, bytes);
    expect(answers.map(({ status, headers }) => [status, headers['location']])).toEqual([
      [200, undefined],
      [200, undefined],
      [200, undefined],
      [302, '/docs'],
    ]);
  });

  it('S12 trailers after the chunks do not count as headers', async () => {
    const bytes = post(`${CHUNKS}Connection: close\r\n`, `a\r\n${BODY}\r\n0\r\nX-Api-Key: other\r\n\r\n`);
    const { answers } = await converse(gateway.url, bytes);
    expect(answers.map(({ status }) => status)).toEqual([201]);
  });

  it('S12 a body of chunks without a byte is no body, and one with a byte is', async () => {
    const members = '/v1/enterprises/ent-harbour/members';
    const remove = (member: string, headers: string, body: string) =>
      get(`DELETE ${members}/${member} HTTP/1.1`, `Host: a\r\n${CHUNKS}${headers}`) + body;
    const close = 'Connection: close\r\n';
    const filled = await converse(gateway.url, remove('mem-harbour-bo', close, `2\r\n{}\r\n0\r\n\r\n`));
    expect(filled.answers).toMatchObject([{ status: 400, body: { errors: [{ pointer: '' }] } }]);
    expect(await sandbox.calls()).toEqual([]);
    const { answers } = await converse(
      gateway.url,
      remove('mem-harbour-bo', '', '0\r\n\r\n') + remove('mem-harbour-dora', close, '0\r\nX-A: b\r\n\r\n'),
    );
    expect(answers.map(({ status }) => status)).toEqual([204, 204]);
    expect(await sandbox.journal('deleteMember')).toHaveLength(2);
  });

  it('S12 valid requests in a row, with blank lines between, get their responses in order', async () => {
    const last = get(`GET /health/live HTTP/1.1`, 'Host: a\r\nConnection: close\r\n');
    const { answers } = await converse(gateway.url, `${smuggled()}\r\n\r\n${smuggled()}${last}`);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await sandbox.calls()).toHaveLength(2);
  });
});

describe('K24 an order with garbage behind it', () => {
  const placed = (id: string) => {
    const body = JSON.stringify({ ...order.body, channelOrderId: id });
    return post(`Content-Length: ${body.length}\r\n`, body, `POST ${order.path} HTTP/1.1`);
  };

  it.each([
    ['that ends', 'SO-raw-1', ''],
    ['that does not end', 'SO-raw-2', 'garbage '.repeat(100)],
  ])('S12 %s: the order gets its own response, and nothing else is sent', async (_, id, more) => {
    await sandbox.fault({ operation: order.upstream, phase: 'before', action: { delayMs: 300 } });
    const { answers, closed } = await converse(gateway.url, `${placed(id)}garbage\r\n\r\n${smuggled()}`, {
      after: (socket) => {
        const again = setInterval(() => socket.write(more), 20);
        socket.once('close', () => clearInterval(again));
      },
    });
    expect(answers[0]).toMatchObject({ status: 201, body: { channelOrderId: id } });
    if (more === '')
      expect(answers).toMatchObject([{}, { status: 400, body: { code: 'validation-failed' } }]);
    expect(closed).toBe(true);
    expect((await sandbox.calls()).map(({ operation }) => operation)).toEqual(['batchOrder']);
  });

  it('S12 the gateway never begins a request that follows a refused one on the same connection', async () => {
    const refused = post('Content-Length: 10\r\n', BODY, undefined, 'Host: a\r\nHost: b\r\n');
    const { answers } = await converse(gateway.url, `${refused}${placed('SO-raw-3')}`);
    expect(answers.map(({ status }) => status)).toEqual([400]);
    // A later one, on a connection of its own, has finished: the first would have finished too.
    await gateway.post(order.path, { ...order.body, channelOrderId: 'SO-raw-4' });
    expect((await sandbox.commits()).map(({ channelOrderId }) => channelOrderId)).toEqual(['SO-raw-4']);
  });
});

describe('requests behind a stream of events, on the same connection', () => {
  let opened: Socket | undefined;
  afterEach(() => {
    opened?.destroy();
  });

  /** Opens a stream, and sends these bytes once it is open. */
  async function behindStream(bytes: () => string): Promise<Socket> {
    const { hostname, port } = new URL(gateway.url);
    const socket = (opened = connect(Number(port), hostname).on('error', () => undefined));
    socket.write(get('GET /v1/events/stream HTTP/1.1'));
    await once(socket, 'data');
    socket.write(bytes());
    return socket;
  }

  it('S11 do not begin while it is open, so that their responses do not fill the memory', async () => {
    await behindStream(() => smuggled().repeat(20));
    // A read that began earlier would have been sent to the platform, too.
    expect((await gateway.get(read.path)).status).toBe(200);
    expect(await sandbox.calls()).toHaveLength(1);
  });

  it.each([
    ['one that is refused', () => get('GET /v1/jobs HTTP/1.1', 'Host: a\r\nHost: b\r\n')],
    ['one of the caller', smuggled],
  ])('S11 and behind %s, are not kept without end: the connection is closed', async (_, first) => {
    const socket = await behindStream(() => first() + 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(1_000));
    await whenClosed(socket);
    expect((await gateway.get(read.path)).status).toBe(200);
  });
});
