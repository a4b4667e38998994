import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface Conversation {
  readonly answers: readonly RawAnswer[];
  /** The other side ended the connection, not this one after its time limit. */
  readonly closed: boolean;
  /** The time from the connection to its end. */
  readonly ms: number;
}

interface Manner {
  /** The longest time to listen. */
  readonly patienceMs?: number;
  /** What to do with the connection after the bytes are sent. */
  readonly after?: (socket: Socket) => void;
}

/** Sends bytes unchanged and listens until the connection ends. */
export function converse(url: string, bytes: string | Buffer, manner: Manner = {}): Promise<Conversation> {
  const { patienceMs = 30_000, after } = manner;
  const { hostname, port } = new URL(url);
  const started = performance.now();
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let closed = true;
    const socket = connect(Number(port), hostname, () => {
      socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
      after?.(socket);
    });
    const patience = setTimeout(() => {
      closed = false;
      socket.destroy();
    }, patienceMs);
    socket
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      // The test only needs to know that it ended.
      .on('error', () => undefined)
      .on('close', () => {
        clearTimeout(patience);
        const answers = [...answersIn(Buffer.concat(chunks).toString())];
        resolve({ answers, closed, ms: performance.now() - started });
      });
  });
}

/** Parses responses out of a server's bytes; each of ours, except those to HEAD, gives the length of its body. */
function* answersIn(text: string): Generator<RawAnswer> {
  for (let rest = text; rest !== '';) {
    const end = rest.indexOf('\r\n\r\n') + 4;
    const [line = '', ...lines] = rest.slice(0, end).trimEnd().split('\r\n');
    const headers = Object.fromEntries(
      lines.map((each) => {
        const colon = each.indexOf(':');
        return [each.slice(0, colon).toLowerCase(), each.slice(colon + 1).trim()];
      }),
    );
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1]);
    if (end < 4 || Number.isNaN(status)) throw new Error(`no answer: ${rest.slice(0, 200)}`);
    const after = Buffer.from(rest.slice(end));
    const length = Number(headers['content-length'] ?? 0);
    const body = after.subarray(0, length).toString();
    yield { status, headers, body: /json/.test(headers['content-type'] ?? '') ? parsed(body) : {} };
    rest = after.subarray(length).toString();
  }
}

function parsed(body: string): Record<string, unknown> {
  return JSON.parse(body) as Record<string, unknown>;
}
