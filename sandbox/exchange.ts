/** One request and its response: read, find the operation, check, carry out, apply a fault rule, journal. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Gatekeeper, parseBody } from './access/gatekeeper.ts';
import type { TokenEndpoint } from './access/oauth.ts';
import { type Answer, plainAnswer, refusalAnswer, successAnswer, tokenAnswer, toReply } from './answer.ts';
import { control } from './control/control.ts';
import { foreignCall } from './control/foreign.ts';
import type { JournalEntry } from './control/journal.ts';
import { page } from './control/page.ts';
import { CONTROL_PREFIX, type Sandbox } from './control/routes.ts';
import { Refusal } from './errors.ts';
import { deliver, send } from './fault/delivery.ts';
import { carriesOut, type FaultRule, type FaultTarget } from './fault/rules.ts';
import { spoil } from './fault/spoil.ts';
import { HANDLERS } from './handlers.ts';

import { asSeen } from './member/who.ts';
import { nearestOperation } from './nearest.ts';
import { matchOperation, methodsOf, type RouteMatch } from './operations.ts';
import { passTime } from './order/batch.ts';

const TOKEN_PATH = '/oauth/token';

/** The most bytes of a control body. Fault rules may contain whole bodies. */
const CONTROL_BODY_BYTES = 64 * 1024 * 1024;

const CONTROL_HEADERS = { 'content-type': 'application/json;charset=UTF-8', 'cache-control': 'no-store' };

interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** Makes the response. With `keep` false every change is undone. Fills in `committed`. */
type Perform = (keep: boolean) => { answer: Answer; committed: boolean };

export class Exchange {
  readonly #sandbox: Sandbox;
  readonly #gatekeeper: Gatekeeper;
  readonly #tokenEndpoint: TokenEndpoint;

  constructor(sandbox: Sandbox, gatekeeper: Gatekeeper, tokenEndpoint: TokenEndpoint) {
    this.#sandbox = sandbox;
    this.#gatekeeper = gatekeeper;
    this.#tokenEndpoint = tokenEndpoint;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = request.url ?? '/';
    const mark = target.indexOf('?');
    const path = mark < 0 ? target : target.slice(0, mark);
    const query = new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1));
    const arrived: Arrived = { method: request.method ?? 'GET', path, query, request, response };
    const { settings } = this.#sandbox.world;
    const isControl =
      settings.controlEnabled && (path === CONTROL_PREFIX || path.startsWith(`${CONTROL_PREFIX}/`));
    const bytes = await readBody(request, isControl ? CONTROL_BODY_BYTES : settings.maxBodyBytes);
    if (bytes === null) return this.#answerPlainly(arrived, plainAnswer(413, 'the body is too large'));
    if (isControl) return this.#control(arrived, bytes);
    if (path === TOKEN_PATH && arrived.method === 'POST') return this.#token(arrived, bytes);
    const match = matchOperation(arrived.method, path);
    if (match !== null) return this.#operation(arrived, match, bytes);
    const allowed = path === TOKEN_PATH ? ['POST'] : methodsOf(path);
    this.#answerPlainly(
      arrived,
      allowed.length === 0
        ? unknownPath(arrived, settings.controlEnabled)
        : plainAnswer(405, 'no such method here', { allow: allowed.join(', ') }),
    );
  }

  async #control({ method, path, query, request, response }: Arrived, bytes: Buffer): Promise<void> {
    const { clock, world } = this.#sandbox;
    const refusal = foreignCall(request, world.settings.host);
    if (refusal !== undefined)
      return send(
        response,
        toReply({ status: 403, body: { error: refusal }, headers: CONTROL_HEADERS, success: false }),
      );
    if (method === 'GET' && path === CONTROL_PREFIX && /\btext\/html\b/.test(request.headers.accept ?? '')) {
      const headers = { 'content-type': 'text/html;charset=UTF-8', 'cache-control': 'no-store' };
      return send(response, { status: 200, headers, body: page(), code: null });
    }
    const { body, readable } = parseBody(bytes);
    const before = clock.offset;
    const answer =
      bytes.length > 0 && !readable
        ? { status: 400, body: { error: 'the body is not JSON', field: 'body' } }
        : control(this.#sandbox, { method, path: path.slice(CONTROL_PREFIX.length), query, body });
    if (clock.offset !== before) await world.settings.clockMoved(clock.offset);
    send(response, toReply({ ...answer, headers: CONTROL_HEADERS, success: false }));
  }

  async #token(arrived: Arrived, bytes: Buffer): Promise<void> {
    const { headers } = arrived.request;
    const form = new URLSearchParams(bytes.toString('utf8'));
    const username = form.get('username');
    const journaled = {
      grant_type: form.get('grant_type'),
      scope: form.get('scope'),
      username,
      client_auth: clientAuthentication(headers.authorization, form),
    };
    const entry = this.#open(arrived, 'token', journaled, 0);
    const target: FaultTarget = { operation: 'token', path: arrived.path, body: journaled, username };
    await this.#answer(arrived, entry, target, (keep) => {
      const answer = this.#tokenEndpoint.answer(headers, form, keep);
      return { answer: tokenAnswer(answer), committed: answer.issued };
    });
  }

  async #operation(arrived: Arrived, { operation, parameters }: RouteMatch, bytes: Buffer): Promise<void> {
    const { query, request, path } = arrived;
    const { world } = this.#sandbox;
    const { refusal, body, username } = this.#gatekeeper.admit(operation, query, request.headers, bytes);
    const entry = this.#open(arrived, operation.name, body, bytes.length);
    const handler = HANDLERS[operation.name];
    await this.#answer(arrived, entry, { operation: operation.name, path, body, username }, (keep) => {
      if (refusal !== null) return { answer: refusalAnswer(refusal, world.settings), committed: false };
      try {
        const now = world.clock.now();
        const moment = { ...world, clock: { now: () => now } };
        passTime(moment);
        const call = asSeen({ ...moment, parameters, query, body, username }, operation.name);
        const { result, changed } = world.state.transaction(() => handler(call), keep);
        const answer =
          result instanceof Refusal
            ? refusalAnswer(result, world.settings)
            : successAnswer(result, world.settings);
        return { answer, committed: changed };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return { answer: refusalAnswer(error, world.settings), committed: false };
      }
    });
  }

  async #answer(arrived: Arrived, entry: JournalEntry, target: FaultTarget, perform: Perform): Promise<void> {
    const rule = this.#sandbox.faults.pick(target);
    if (rule !== null) return this.#spoiled(arrived, entry, rule, perform);
    const { answer, committed } = perform(true);
    const reply = toReply(answer);
    entry.committed = committed;
    entry.status = reply.status;
    entry.code = reply.code;
    send(arrived.response, reply);
  }

  /** Carries out an operation with a fault. A caller that hangs up during the wait changes nothing: the operation is still carried out. */
  async #spoiled(
    { request, response }: Arrived,
    entry: JournalEntry,
    rule: FaultRule,
    perform: Perform,
  ): Promise<void> {
    const { pending } = this.#sandbox;
    const { action, phase } = rule;
    entry.fault = rule.id;
    if (phase === 'before' && !(await pending.sleep(action.delayMs ?? 0)))
      return void request.socket.destroy();
    const { answer, committed } = perform(carriesOut(rule));
    entry.committed = committed;
    if (phase === 'after' && !(await pending.sleep(action.delayMs ?? 0)))
      return void request.socket.destroy();
    if (action.hang === true) {
      await pending.forever();
      return void request.socket.destroy();
    }
    const reply = spoil(answer, action, {
      forToken: entry.operation === 'token',
      random: this.#sandbox.faults.random,
    });
    const answered =
      action.wire === undefined && action.reset !== 'before-headers' && action.close !== 'before-headers';
    entry.status = answered ? reply.status : null;
    entry.code = answered ? reply.code : null;
    await deliver(reply, action, request, response, pending);
  }

  #open(arrived: Arrived, operation: string | null, body: unknown, bytes: number): JournalEntry {
    const { method, path, query, request } = arrived;
    const { journal, world } = this.#sandbox;
    const at = world.clock.now();
    return journal.open({ at, operation, method, path, query, headers: request.headers, body }, bytes);
  }

  #answerPlainly(arrived: Arrived, answer: Answer): void {
    const entry = this.#open(arrived, null, null, 0);
    entry.status = answer.status;
    send(arrived.response, toReply(answer));
  }
}

/** Answers 404 with the operation that was probably meant, and the control side's page. */
function unknownPath({ method, path }: Arrived, controlEnabled: boolean): Answer {
  const { name, method: its, path: template } = nearestOperation(method, path);
  const nearest = { operation: name, method: its, path: template };
  return plainAnswer(
    404,
    'no such path',
    {},
    { nearest, ...(controlEnabled ? { help: CONTROL_PREFIX } : {}) },
  );
}

/**
 * Reads the whole body. Returns null if it is larger than the limit, and discards the rest. It uses events, because the async iterator
 * costs more than the rest of a small request.
 */
function readBody(request: IncomingMessage, limit: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) chunks.push(chunk);
    });
    request.on('end', () => {
      const [first] = chunks;
      if (size > limit) resolve(null);
      else resolve(chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks));
    });
    request.on('error', reject);
  });
}

function clientAuthentication(authorization: string | undefined, form: URLSearchParams): string {
  if (authorization !== undefined) return 'basic';
  return form.has('client_secret') ? 'body' : 'none';
}
