import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook as Verifier } from 'standardwebhooks';
import type { Fleet } from '../../support/fleet.ts';
import { onceServed } from '../../support/once-served.ts';
import { until } from '../../support/redis.ts';
import type { Event } from './feed.ts';

/** Every third delivery is not taken, nor is the first of an order in doubt: its next event comes meanwhile. */
const FAILS_EACH = 3;
const FAILS_FIRST = 'license-order.in-doubt';
/** The dispatcher looks more often than this for events to deliver. */
const IDLE_MS = 5_000;

/** A receiver of all events that fails often, and what it took. */
export class Hook {
  readonly #fleet: Fleet;
  readonly #idleMs: number;
  readonly #server: Server;
  readonly #taken = new Set<string>();
  readonly #refused = new Set<string>();
  /** How often the doubt about each order was refused, by the subject of its event. */
  readonly #refusedDoubts = new Map<string, number>();
  #isHolding = false;
  /** Taken before the database lost some of them. */
  #former: ReadonlySet<string> = new Set();
  #asked = 0;
  #askedAt = 0;
  #unsigned = 0;
  #secret = '';
  #webhookId = '';

  private constructor(fleet: Fleet, idleMs: number) {
    this.#fleet = fleet;
    this.#idleMs = idleMs;
    this.#server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      this.#askedAt = performance.now();
      void text(request).then((body) => {
        if (!this.#isSigned(body, request.headers as Record<string, string>)) this.#unsigned++;
        const { id, type, subject } = JSON.parse(body) as Event;
        const isDue = type !== FAILS_FIRST || (this.#refused.has(id) && !this.#isHolding);
        const isTaken = ++this.#asked % FAILS_EACH > 0 && isDue;
        (isTaken ? this.#taken : this.#refused).add(id);
        if (!isTaken && type === FAILS_FIRST) this.#refusedDoubts.set(subject, this.#timesOf(subject) + 1);
        response.writeHead(isTaken ? 204 : 503, { 'retry-after': '1' }).end();
      });
    });
  }

  /** The webhook gets what happens from now on. `idleMs`: when nothing has come for so long, nothing comes any more. */
  static async open(fleet: Fleet, idleMs = IDLE_MS): Promise<Hook> {
    const hook = new Hook(fleet, idleMs);
    await once(hook.#server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(hook.#server.address() as AddressInfo).port}/hook`;
    const { status, body } = await onceServed(() => fleet.post(0, '/v1/webhooks', { url, types: ['*'] }));
    if (status !== 201) throw new Error(`no webhook: ${status}`);
    hook.#secret = String(body['secret']);
    hook.#webhookId = String(body['webhookId']);
    return hook;
  }

  /** Refuses the doubts about orders from now on, until {@link takeDoubts}. */
  refuseDoubts(): void {
    this.#isHolding = true;
  }

  /** Takes them again, once the doubt of each subject has been refused twice more: what does not wait for it has come by then. */
  async takeDoubts(subjects: readonly string[]): Promise<void> {
    const wanted = subjects.map((subject) => ({ subject, times: this.#timesOf(subject) + 2 }));
    await until('each doubt has come again', () =>
      wanted.every(({ subject, times }) => this.#timesOf(subject) >= times),
    );
    this.#isHolding = false;
  }

  /** The database has lost commits: what was taken until now may be no event any more. */
  lost(): void {
    this.#former = new Set(this.#taken);
  }

  get hasLost(): boolean {
    return this.#former.size > 0;
  }

  /** What it took, beside the events of the feed: each is there, and those of one subject came in their order. */
  async faults(events: readonly Event[]): Promise<string[]> {
    // A receiver that fails gets its events later.
    await until('nothing is left to deliver', () => this.#isIdle(events));
    const first = new Map([...this.#taken].map((id, at) => [id, at]));
    const missing = events.filter(({ id }) => !first.has(id));
    const bySubject = Map.groupBy(events, ({ subject }) => subject);
    const disordered = [...bySubject].filter(([, its]) =>
      its.some(({ id }, at) => at > 0 && (first.get(id) ?? 0) < (first.get(its[at - 1]?.id ?? '') ?? 0)),
    );
    const known = new Set(events.map(({ id }) => id));
    const unknown = [...first.keys()].filter((id) => !known.has(id) && !this.#former.has(id));
    return [
      ...missing.map(({ id, subject }) => `webhooks: the event ${id} of ${subject} was not delivered`),
      ...disordered.map(([subject]) => `webhooks: the events of ${subject} came in another order`),
      ...unknown.map((id) => `webhooks: ${id} is no event`),
      ...(this.#unsigned > 0 ? [`webhooks: ${this.#unsigned} deliveries without a right signature`] : []),
    ];
  }

  /** Nothing waits, and either all has come or nothing has for a while. */
  async #isIdle(events: readonly Event[]): Promise<boolean> {
    const { body } = await this.#fleet.get(0, `/v1/webhooks/${this.#webhookId}`);
    if (body['pending'] !== 0) return false;
    return events.every(({ id }) => this.#taken.has(id)) || performance.now() - this.#askedAt > this.#idleMs;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #timesOf(subject: string): number {
    return this.#refusedDoubts.get(subject) ?? 0;
  }

  #isSigned(body: string, headers: Record<string, string>): boolean {
    try {
      new Verifier(this.#secret).verify(body, headers);
      return true;
    } catch {
      return false;
    }
  }
}
