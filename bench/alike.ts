import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import type { Contender } from './contenders.ts';
import { WrongAnswer } from './generator.ts';
import type { Task } from './tasks.ts';

/** The headers that a program must send as the gateway does, if it is measured as the gateway's equal. */
const HEADERS = ['content-type', 'cache-control', 'link', 'location', 'ratelimit-policy'] as const;
/** The parts that differ from answer to answer. */
const TIMES = /"(submittedAt|settledAt)":"[^"]+"/g;
const CHANGING = /"(keyShellNumber)":"[^"]+"/g;
const LONG = '9007199254740993';

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends the same requests to both: those of the task, and some that must be refused. Throws if the answers differ. */
export async function assertAlike(
  gateway: Contender,
  other: Contender,
  task: Task,
  next: () => number,
): Promise<void> {
  const index = next();
  const isChanging = task.kind === 'read' && task.changing;
  const [expected, found] = await Promise.all(
    [gateway, other].map(({ running, asked }) =>
      answersOf(`http://127.0.0.1:${running.ports[0]}`, parsed(asked(task).request(index, 0)), isChanging),
    ),
  );
  if (isDeepStrictEqual(found, expected)) return;
  const [one, two] = [expected, found].map((each) => JSON.stringify(each, undefined, 2));
  throw new WrongAnswer(`not alike: ${two}\nwhere the gateway answers ${one}`);
}

async function answersOf(url: string, sent: Sent, isChanging: boolean): Promise<object> {
  const { status, headers, text } = await ask(url, sent);
  const etag = String(headers['etag'] ?? '');
  const again = { ...sent, headers: { ...sent.headers, 'if-none-match': etag } };
  const refused = [];
  for (const wrong of wrongOnes(sent)) {
    const { status: refusal, headers: its, text: problem } = await ask(url, wrong);
    const { code } = JSON.parse(problem) as { code: string };
    refused.push([refusal, its['content-type'], its['cache-control'], code]);
  }
  return {
    ...{ status, body: text.replace(isChanging ? CHANGING : TIMES, '"$1":""'), refused },
    headers: HEADERS.map((name) => headers[name]),
    hasRequestId: headers['x-request-id'] !== undefined,
    ...(sent.method === 'GET' && {
      etag: isChanging ? etag.length : etag,
      again: (await ask(url, again)).status,
    }),
  };
}

/** Returns the request with another key, and with fields that no caller may send. */
function wrongOnes(sent: Sent): Sent[] {
  const { headers, path, body } = sent;
  const ofStranger = { ...sent, headers: { ...headers, 'x-api-key': 'lgw_of-nobody' } };
  if (sent.method === 'GET') return [ofStranger, { ...sent, path: `${path}&unknown=1` }];
  const bodies = [
    body.replace('"items":', '"unknown":1,"items":'),
    body.replace('"sequence":1', `"sequence":${LONG}`),
    body.replace('"sequence":1', '"sequence":1,"sequence":1'),
  ];
  return [ofStranger, ...bodies.map((wrong) => ({ ...sent, body: wrong }))];
}

async function ask(url: string, { method, path, headers, body }: Sent) {
  const response = await request(url + path, { method, headers, body: body === '' ? null : body });
  return { status: response.statusCode, headers: response.headers, text: await response.body.text() };
}

/** Parses a request in the form that is written to the socket. */
function parsed(rendered: string): Sent {
  const [head = '', body = ''] = rendered.split('\r\n\r\n');
  const [line = '', ...lines] = head.split('\r\n');
  const [method, path = ''] = line.split(' ');
  const headers = lines
    .map((each) => each.split(': ') as [string, string])
    .filter(([name]) => name !== 'host' && name !== 'content-length');
  return { method: method as Sent['method'], path, headers: Object.fromEntries(headers), body };
}
