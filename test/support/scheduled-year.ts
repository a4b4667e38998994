import { SteppedClock } from './clock-shim.ts';
import { type TestAnswer, TestGateway } from './gateway.ts';
import { orderOf } from './order-body.ts';
import { until } from './redis.ts';
import type { TestSandbox } from './sandbox.ts';

const ORDERS = '/v1/license-orders';
const DAY_MS = 24 * 3_600_000;
const DAYS = 365;
/** The limit of the caller with a budget, in a month. */
const LIMIT = 2;

interface Planned {
  readonly number: string;
  readonly caller: 'buyer' | 'saver';
  readonly notBefore: number;
  /** When its caller cancels it; undefined: never. */
  readonly cancelAt: number | undefined;
}

/** What a year of scheduled orders must not have: each line is one order that is not as it should be. */
export interface YearEnd {
  readonly faults: readonly string[];
  readonly placed: number;
  readonly cancelled: number;
  readonly overBudget: number;
  /** Orders that waited for the end of a maintenance. */
  readonly held: number;
}

/**
 * Plays a year on the clock of the sandbox, which is also that of the gateway and its database: so many orders over twelve months, of which a
 * third is cancelled, two maintenances, and one month in which a caller uses up its budget. The end is compared with the platform's journal.
 */
export async function playYear(sandbox: TestSandbox, orders: number, stepDays: number): Promise<YearEnd> {
  const clock = SteppedClock.make();
  // The same months each time.
  const baseMs = Date.UTC(new Date().getUTCFullYear() + 1, 0, 1) - Date.now();
  clock.step(baseMs);
  await sandbox.advance(baseMs);
  const rights = {
    scopes: ['orders:read', 'orders:write'],
    enterprises: ['*'],
    channels: ['crm'],
    users: ['*'],
  };
  const gateway = await TestGateway.start(sandbox, clock.environment, [
    { name: 'buyer', ...rights },
    { name: 'saver', ...rights, budgets: { orders: LIMIT } },
  ]);
  try {
    return await new Year(sandbox, gateway, clock, { orders, stepDays, baseMs }).play();
  } finally {
    await gateway.stop();
    clock.stop();
  }
}

class Year {
  readonly #stepDays: number;
  readonly #baseMs: number;
  #day = 0;
  readonly #plan: readonly Planned[];
  readonly #states = new Map<string, string>();
  #cursor = '';
  #held = 0;

  constructor(
    private readonly sandbox: TestSandbox,
    private readonly gateway: TestGateway,
    private readonly clock: SteppedClock,
    { orders, stepDays, baseMs }: { orders: number; stepDays: number; baseMs: number },
  ) {
    [this.#stepDays, this.#baseMs] = [stepDays, baseMs];
    this.#plan = planOf(orders, Date.now() + baseMs);
  }

  async play(): Promise<YearEnd> {
    for (const { number, caller, notBefore } of this.#plan) {
      const order = { ...orderOf(number), notBefore: new Date(notBefore).toISOString() };
      const { status, text } = await this.gateway.post(ORDERS, order, { key: this.#keyOf(caller) });
      if (status !== 202) throw new Error(`${number}: ${status} ${text}`);
    }
    const maintenances = [Math.round(DAYS * 0.3), Math.round(DAYS * 0.7)];
    while (this.#day < DAYS + this.#stepDays) {
      const before = this.#now;
      const due = maintenances.filter((day) => day >= this.#day && day < this.#day + this.#stepDays);
      if (due.length > 0) await this.#maintain();
      await this.#cancel(before, before + this.#stepDays * DAY_MS);
      if (due.length > 0) {
        // A part of the step passes within the maintenance.
        await this.#advance(Math.min(3, this.#stepDays));
        this.#held += await this.#waiting();
        await this.gateway.request('DELETE', '/v1/maintenance');
        await this.#advance(this.#stepDays - Math.min(3, this.#stepDays));
      } else await this.#advance(this.#stepDays);
      await until(`day ${this.#day}: what is due is sent`, async () => (await this.#waiting()) === 0);
      await this.#readFeed();
    }
    return this.#compared();
  }

  get #aheadMs(): number {
    return this.#baseMs + this.#day * DAY_MS;
  }

  get #now(): number {
    return Date.now() + this.#aheadMs;
  }

  #keyOf(caller: string): string {
    return String(this.gateway.keys[caller]);
  }

  async #advance(days: number): Promise<void> {
    this.#day += days;
    this.clock.step(this.#aheadMs);
    await this.sandbox.advance(days * DAY_MS);
  }

  async #maintain(): Promise<void> {
    const ends = new Date(this.#now + 6 * DAY_MS).toISOString();
    const body = { stops: 'orders', until: ends, reason: 'the platform is updated' };
    await until('the maintenance is set', async () => {
      const { status } = await this.gateway.request('PUT', '/v1/maintenance', { body });
      return status === 200;
    });
  }

  async #cancel(from: number, to: number): Promise<void> {
    for (const { number, caller, cancelAt = 0 } of this.#plan)
      if (cancelAt >= from && cancelAt < to) {
        const key = this.#keyOf(caller);
        const { status, text } = await this.gateway.request('DELETE', `${ORDERS}/crm/${number}`, { key });
        if (status !== 204) throw new Error(`${number} is not cancelled: ${status} ${text}`);
      }
  }

  /** How many orders wait whose time has come. */
  async #waiting(): Promise<number> {
    const { body } = await this.gateway.get(`${ORDERS}?state=scheduled&sort=notBefore&pageSize=1000`);
    const sending = (await this.gateway.get(`${ORDERS}?state=sending`)).body['total'];
    const items = body['items'] as { notBefore: string }[];
    return items.filter(({ notBefore }) => Date.parse(notBefore) <= this.#now).length + Number(sending);
  }

  /** The feed is kept for seven days, and a step may be longer, so its content is noted after each step. */
  async #readFeed(): Promise<void> {
    for (;;) {
      const after = this.#cursor && `&after=${this.#cursor}`;
      const { status, body }: TestAnswer = await this.gateway.get(`/v1/events?limit=1000${after}`);
      if (status === 410) {
        this.#cursor = '';
        continue;
      }
      const items = body['items'] as { data: { channelOrderId: string; state: string } }[];
      for (const { data } of items) this.#states.set(data.channelOrderId, data.state);
      this.#cursor = String(body['next']);
      if (items.length === 0) return;
    }
  }

  async #compared(): Promise<YearEnd> {
    const journal = await this.sandbox.journal('batchOrder');
    const commits = (await this.sandbox.commits()).map(({ channelOrderId }) => channelOrderId);
    const faults: string[] = [];
    for (const { number, notBefore, cancelAt } of this.#plan) {
      // An application token has ended between two orders: the platform refuses the first attempt with it (60000).
      const sent = journal.filter(
        ({ body, code }) =>
          (body as { channelOrderId: string }).channelOrderId === number && code !== '60000',
      );
      const state = this.#states.get(number);
      const isPlaced = cancelAt === undefined && state !== 'rejected';
      const committed = commits.filter((each) => each === number).length;
      if (state !== (cancelAt === undefined ? (isPlaced ? 'succeeded' : 'rejected') : 'cancelled'))
        faults.push(`${number} is ${state}`);
      if (sent.length !== Number(isPlaced) || committed !== Number(isPlaced))
        faults.push(`${number} (${state}) was sent ${sent.length} times and carried out ${committed} times`);
      const early = sent.find(({ at }) => Date.parse(at) < notBefore);
      if (early)
        faults.push(`${number} was sent at ${early.at}, before ${new Date(notBefore).toISOString()}`);
    }
    const counted = (state: string) => [...this.#states.values()].filter((each) => each === state).length;
    return {
      faults,
      placed: counted('succeeded'),
      cancelled: counted('cancelled'),
      overBudget: counted('rejected'),
      held: this.#held,
    };
  }
}

/** A third is cancelled. Of the caller with a budget two more orders than fit are due in one month, and one in another. */
function planOf(orders: number, start: number): Planned[] {
  const middle = new Date(start + 150 * DAY_MS);
  const month = Date.UTC(middle.getUTCFullYear(), middle.getUTCMonth() + 1, 3);
  const saved = Array.from({ length: LIMIT + 2 }, (_, at) => ({
    ...{ number: `YEAR-S${at}`, caller: 'saver' as const, cancelAt: undefined },
    notBefore: month + at * 3_600_000,
  }));
  const other = { ...saved[0], number: 'YEAR-S-other', notBefore: month + 60 * DAY_MS } as Planned;
  const bought = Array.from({ length: orders - saved.length - 1 }, (_, at): Planned => {
    const notBefore = start + DAY_MS + ((at * 97) % orders) * ((364 * DAY_MS) / orders);
    const cancelAt = at % 3 === 0 ? start + (notBefore - start) * 0.5 : undefined;
    return { number: `YEAR-${at}`, caller: 'buyer', notBefore, cancelAt };
  });
  return [...saved, other, ...bought];
}
