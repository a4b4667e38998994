import { connect } from 'node:net';
import fc from 'fast-check';
import { search } from './search.ts';
import { onceNotBusy, type Stage } from './stage.ts';

/** Bytes on a socket: nearly valid HTTP/1.1 requests, and known attacks on servers. */

/** The parts of a request; each can be replaced by an odd one. */
interface Parts {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly lines: readonly string[];
  readonly end: string;
  readonly body: string;
}

/** The bytes of one connection. */
interface Attempt {
  readonly why: string;
  /** In pieces, one for each write. */
  readonly bytes: readonly Buffer[];
  /** Framing that two servers read differently (RFC 9112, section 6.3): refused, the connection closed, and the rest never served. */
  readonly ambiguous: boolean;
}

const HIDDEN = 'hidden-behind-another';

/** At each position of the template one of these; `$` is the original. */
const ODD = {
  method: [
    '',
    ' ',
    'get',
    'G\tET',
    'GET\u0000',
    'PRI',
    'CONNECT',
    'M-SEARCH',
    'X'.repeat(9_000),
    '$ $',
    'GÉT',
    '\r\n$',
  ],
  target: [
    ...[
      '',
      '*',
      '//',
      '/..',
      '/%',
      '/%00',
      '/%2e%2e/%2e%2e/etc',
      '\\',
      'http://other.invalid/v1/customers',
      'http://[::1',
      '?',
      '#',
      '/v1/\u0000',
    ],
    ...[
      '/\u00ff',
      '/v1/license-orders?a=%c3%28',
      '$$',
      '$#x',
      '$?',
      '$ HTTP/1.1',
      `/${'a'.repeat(9_000)}`,
      `/${'a/'.repeat(3_000)}`,
      '/__proto__',
      '/constructor',
    ],
  ],
  version: [
    'HTTP/1.0',
    'HTTP/0.9',
    'HTTP/2.0',
    'HTTP/1.9',
    'HTTP/1',
    'http/1.1',
    'HTTP/1.1 x',
    '',
    'ICE/1.0',
    `HTTP/${'1'.repeat(500)}`,
  ],
  line: [
    ...[
      '',
      ' ',
      ':',
      ': x',
      'x',
      'x :y',
      ' folded: x',
      '\tfolded',
      'x: \u0000',
      'x: \u0007',
      'x\u0000y: z',
      'é: é',
      '__proto__: x',
      'constructor: x',
    ],
    ...[
      'Host: a',
      'Host: a\r\nHost: b',
      'Host: ',
      'Host: a@b:99999',
      'Connection: close, upgrade',
      'Connection: X-Api-Key',
      'Upgrade: websocket\r\nConnection: upgrade',
    ],
    ...[
      'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__',
      'Expect: 100-continue',
      'Expect: x',
      'Trailer: x',
      'TE: trailers',
    ],
    ...[
      'Accept-Encoding: gzip',
      'Range: bytes=0-',
      'Content-Type: ',
      'Content-Encoding: gzip',
      'Cookie: a=b; c',
      'X-Request-Id: a\rb',
      'X-Request-Id: a\nb: c',
    ],
    ...[
      `x: ${'y'.repeat(20_000)}`,
      'a: b\r\n'.repeat(300) + 'c: d',
      'X-Forwarded-For: ::1',
      'Content-Length: 0',
      'Transfer-Encoding: identity',
      'Keep-Alive: timeout=9999',
    ],
  ],
  end: ['', '\r\n', '\n\n', '\r\r', '\n', '\r\n\r\n\r\n', '\r\n\r\n\u0000'],
  body: [
    '',
    '$$',
    '{',
    '\u0000'.repeat(100),
    '$\r\n',
    '\r\n$',
    '{"a":'.repeat(5_000),
    '\ufeff$',
    'a=b&c=d',
    '--x\r\n\r\n',
  ],
} as const;

/** Framing for which 400 and the end of the connection are the only safe response. `#` stands for the true length. */
const AMBIGUOUS: readonly string[] = [
  'Content-Length: #\r\nTransfer-Encoding: chunked',
  'Transfer-Encoding: chunked\r\nContent-Length: #',
  'Content-Length: #\r\nContent-Length: 0',
  'Content-Length: 0\r\nContent-Length: #',
  'Content-Length: #, 0',
  'Content-Length: +#',
  'Content-Length: -1',
  'Content-Length: 0x10',
  'Content-Length: # #',
  'Content-Length: #e0',
  'Content-Length: 99999999999999999999999999',
  'Content-Length : #',
  'Transfer-Encoding: chunked, identity',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
  'Transfer-Encoding : chunked',
  'Transfer-Encoding:\u000bchunked',
  'Content-Length: #\r\n Transfer-Encoding: chunked',
  'X: y\nTransfer-Encoding: chunked\r\nContent-Length: #',
];

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

/** Valid requests to start from. */
function templates(key: string): Parts[] {
  const body = JSON.stringify({ size: 1 });
  const parts = (method: string, target: string, text = ''): Parts => ({
    method,
    target,
    version: 'HTTP/1.1',
    lines: [
      'Host: gateway',
      `X-Api-Key: ${key}`,
      ...(text === ''
        ? []
        : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(text)}`]),
    ],
    end: '\r\n\r\n',
    body: text,
  });
  return [
    parts('GET', '/v1/enterprises/ent-harbour/assets'),
    parts('GET', '/v1/license-orders?page=1&pageSize=5'),
    parts('POST', '/v1/asset-num-reservations', body),
    parts('DELETE', '/v1/enterprises/ent-harbour/members/none'),
    parts('GET', '/problems'),
    { ...parts('GET', '/health/live'), lines: ['Host: gateway'] },
  ];
}

function textOf({ method, target, version, lines, end, body }: Parts): string {
  return `${method} ${target} ${version}\r\n${lines.join('\r\n')}${end}${body}`;
}

function attempts(key: string): fc.Arbitrary<Attempt> {
  const good = pick(...templates(key));
  const odd = <Place extends keyof typeof ODD>(place: Place) => pick(...ODD[place]);
  const change = fc.oneof(
    fc.record({ method: odd('method') }),
    fc.record({ target: odd('target') }),
    fc.record({ version: odd('version') }),
    fc.record({ line: odd('line'), at: fc.nat(3) }),
    fc.record({ end: odd('end') }),
    fc.record({ body: odd('body') }),
  ) as fc.Arbitrary<Partial<Record<keyof typeof ODD, string>> & { at?: number }>;
  const bent = fc.tuple(good, fc.array(change, { minLength: 1, maxLength: 3 })).map(([parts, changes]) => {
    const text = textOf(changes.reduce(bend, parts));
    return { why: 'a part exchanged', bytes: [Buffer.from(text, 'latin1')], ambiguous: false };
  });
  const flipped = fc
    .tuple(good, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }))
    .map(([parts, flips]) => {
      const bytes = Buffer.from(textOf(parts), 'latin1');
      for (const [at, value] of flips) bytes[at % bytes.length] = value;
      return { why: 'bytes exchanged', bytes: [bytes], ambiguous: false };
    });
  const cut = fc.tuple(good, fc.nat()).map(([parts, at]) => {
    const bytes = Buffer.from(textOf(parts), 'latin1');
    return { why: 'cut', bytes: [bytes.subarray(0, at % bytes.length)], ambiguous: false };
  });
  const pieces = fc
    .tuple(good, good, fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 2, maxLength: 6 }))
    .map(([first, second, sizes]) => {
      const bytes = Buffer.from(textOf(first) + textOf(second), 'latin1');
      return { why: 'two in pieces', bytes: inPieces(bytes, sizes), ambiguous: false };
    });
  const noise = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => ({
    why: 'noise',
    bytes: [Buffer.from(bytes)],
    ambiguous: false,
  }));
  const tls = fc.uint8Array({ minLength: 20, maxLength: 200 }).map((rest) => ({
    why: 'TLS',
    bytes: [Buffer.from([0x16, 0x03, 0x01, 0x00, 0xc8]), Buffer.from(rest)],
    ambiguous: false,
  }));
  const smuggled = fc.tuple(pick(...AMBIGUOUS), fc.boolean()).map(([framing, chunked]) => {
    const hidden = `GET /problems HTTP/1.1\r\nHost: gateway\r\nX-Request-Id: ${HIDDEN}\r\n\r\n`;
    const body = chunked ? `0\r\n\r\n${hidden}` : `{"size":1}${hidden}`;
    const head =
      `POST /v1/asset-num-reservations HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n` +
      framing.replaceAll('#', chunked ? '5' : '10');
    return {
      why: `framed ${JSON.stringify(framing)}`,
      bytes: [Buffer.from(`${head}\r\n\r\n${body}`, 'latin1')],
      ambiguous: true,
    };
  });
  return fc.oneof(
    { weight: 8, arbitrary: bent },
    { weight: 3, arbitrary: flipped },
    { weight: 2, arbitrary: cut },
    { weight: 2, arbitrary: pieces },
    { weight: 1, arbitrary: noise },
    { weight: 1, arbitrary: tls },
    { weight: 3, arbitrary: smuggled },
  );
}

function bend(
  parts: Parts,
  { line, at = 0, ...others }: Partial<Record<keyof typeof ODD, string>> & { at?: number },
): Parts {
  const changed: Record<string, string> = {};
  for (const [place, odd] of Object.entries(others))
    changed[place] = odd.replaceAll('$', () => parts[place as 'method']);
  const lines =
    line === undefined ? parts.lines : parts.lines.toSpliced(at % (parts.lines.length + 1), 0, line);
  return { ...parts, ...changed, lines };
}

function inPieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let from = 0;
  for (const size of sizes) pieces.push(bytes.subarray(from, (from += size)));
  return [...pieces, bytes.subarray(from)].filter(({ length }) => length > 0);
}

/** Sends all bytes and FIN, and returns the response bytes until the other side closes. */
function say(port: number, { bytes }: Attempt): Promise<string> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('latin1')));
    // The gateway may close the connection.
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(heard));
    // When the server waits for bytes that never come, it must end with an error, in time.
    socket.setTimeout(60_000, () => socket.destroy());
    for (const piece of bytes) socket.write(piece);
    socket.end();
  });
}

/** The responses in it, as far as their heads. */
function answersIn(heard: string): { status: number; head: string }[] {
  const heads = heard.matchAll(/HTTP\/1\.1 (\d{3}) (?:[^\r]*\r\n)+/g);
  return [...heads].map(([head, status]) => ({ status: Number(status), head }));
}

function wrongIn({ ambiguous }: Attempt, heard: string): string | undefined {
  const answers = answersIn(heard);
  const statuses = answers.map(({ status }) => status);
  if (heard !== '' && !heard.startsWith('HTTP/1.1 ')) return 'an answer that is no HTTP';
  const failure = statuses.find((status) => status >= 500);
  if (failure !== undefined) return `${failure}`;
  if (/\n\s+at |node:internal|node_modules/.test(heard)) return 'a stack in the answer';
  const mute = answers.find(
    ({ status, head }) => status >= 400 && !/^content-type: application\/problem\+json/im.test(head),
  );
  if (mute) return `${mute.status} without a problem`;
  if (!ambiguous) return undefined;
  if (heard.includes(HIDDEN)) return 'served what was hidden in a body';
  return statuses.length === 1 && statuses[0] === 400 ? undefined : `${statuses.join()} instead of one 400`;
}

export interface RawReport {
  readonly connections: number;
  readonly answers: ReadonlyMap<number, number>;
  readonly violations: readonly { readonly what: string; readonly example: string }[];
}

interface Options {
  readonly seed: number;
  readonly connections: number;
}

const LANES = 20;

/** Opens this many connections. Afterwards the same process must serve a valid request. */
export async function runRaw(stage: Stage, { seed, connections }: Options): Promise<RawReport> {
  const { port } = new URL(stage.gateway.url);
  const answers = new Map<number, number>();
  const violations: { what: string; example: string }[] = [];
  let done = 0;
  const lane = async (index: number): Promise<void> => {
    const run = async (attempt: Attempt): Promise<void> => {
      const heard = await onceNotBusy(
        () => say(Number(port), attempt),
        (text) => text,
      );
      done++;
      for (const { status } of answersIn(heard)) answers.set(status, (answers.get(status) ?? 0) + 1);
      const wrong = wrongIn(attempt, heard);
      if (wrong) throw new Error(`${attempt.why}: ${wrong}: ${heard.slice(0, 600)}`);
    };
    const numRuns = Math.ceil(connections / LANES);
    const found = await search(attempts(stage.key), run, { numRuns, seed: seed + index });
    if (!found) return;
    const text = Buffer.concat([...found.example.bytes]).toString('latin1');
    violations.push({
      what: found.what,
      example: JSON.stringify(text).replaceAll(stage.key, '[key]').slice(0, 2_000),
    });
  };
  await Promise.all([...Array(LANES).keys()].map(lane));
  if (stage.gateway.child.exitCode !== null || stage.gateway.child.signalCode !== null)
    violations.push({ what: 'The process has ended', example: stage.gateway.output().slice(-2_000) });
  const after = await stage.json('GET', '/v1/enterprises/ent-harbour/assets');
  if (after.status !== 200)
    violations.push({ what: `A good request got ${after.status}`, example: after.text });
  return { connections: done, answers, violations };
}
