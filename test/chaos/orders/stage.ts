import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { FaultProxy } from '../../support/fault-proxy.ts';
import type { GatewayProcess } from '../../support/gateway-process.ts';
import { askDatabase } from '../../support/postgres.ts';
import { comesTrue, serverFolder, until } from '../../support/redis.ts';
import { ChaosServer } from '../server.ts';
import { ChaosStage, type Parts, partsOf, type Setting } from '../stage.ts';
import { OrderDesk } from './desk.ts';
import { feedFaults } from './feed.ts';
import { Hook } from './hook.ts';
import { DEADLINE_MS, type Fault, faultRules } from './plan.ts';
import { Records } from './records.ts';

const AUDIT_LINE = /"event":"audit","requestId":"([\w-]+)"/g;
/** A killed process loses the line that it is writing, since a write does not wait for the log. */
const KILLED_WITH_ITS_LINES_MS = 2_000;
/** A gateway has stopped orders until an operator confirms the database. */
const STOPPED = /"event":"database-stopped","reason":"(?:unready|identity|numbers)"/;

/** `server`: one that the acts break; `shared`: the server of other tests, which they leave alone; `file`: SQLite. */
export type DatabaseKind = 'server' | 'shared' | 'file';

/** A platform that fails, gateways with short deadlines, and a database that loses nothing, unless an act or the variant has it lose something. */
export class OrderStage extends ChaosStage {
  readonly desk: OrderDesk;
  readonly records: Records;
  /** A receiver of webhooks. */
  readonly hook: Hook;
  readonly #folder: string | undefined;
  /** The length of each gateway's output when its database was last broken. */
  readonly #marks = new Map<GatewayProcess, number>();
  #orders = 0;
  #isEmptied = false;

  private constructor(
    parts: Parts,
    records: Records,
    hook: Hook,
    { server, folder }: { server: ChaosServer | undefined; folder: string | undefined },
  ) {
    super(parts, server);
    this.desk = new OrderDesk(parts.fleet, parts.sandbox);
    this.records = records;
    this.hook = hook;
    this.#folder = folder;
  }

  static async set({ kind, ...setting }: Setting & { readonly kind: DatabaseKind }): Promise<OrderStage> {
    const server = kind === 'server' ? await ChaosServer.start() : undefined;
    const folder = kind === 'file' ? serverFolder('chaos-file-') : undefined;
    const parts = await partsOf({
      ...setting,
      // Several processes may share a file, and no operator would have them.
      processes: kind === 'file' ? 1 : setting.processes,
      environment: {
        UPSTREAM_ORDER_DEADLINE_MS: String(DEADLINE_MS),
        WEBHOOK_HOSTS: '127.0.0.1',
        ...(server && { DATABASE_URL: server.url }),
        ...(folder !== undefined && { DATABASE_URL: `sqlite:${join(folder, 'gateway.db')}` }),
        ...setting.environment,
      },
      variantsFile: 'test/chaos/orders/variants.ts',
    });
    await parts.sandbox.fault(faultRules());
    const records = await Records.open({ ...parts.environment });
    const stage = new OrderStage(parts, records, await Hook.open(parts.fleet), { server, folder });
    // Fetches tokens and runs the code once before the test.
    await Promise.all(stage.all.map((gateway) => stage.takesOrders(gateway)));
    return stage;
  }

  /** The indexes of the gateways. */
  get all(): number[] {
    return [...this.fleet.gateways.keys()];
  }

  async takesOrders(gateway: number): Promise<void> {
    await until(`gateway ${gateway} takes orders`, () => this.#takesOne(gateway));
  }

  async #takesOne(gateway: number): Promise<boolean> {
    return (await this.desk.place(gateway, `taken-${this.#orders++}`)).status === 201;
  }

  /** Each of the orders is submitted to each of these gateways. */
  handIn(names: readonly string[], gateways: readonly number[], fault: Fault = 'none') {
    return Promise.all(
      names.flatMap((name) => gateways.map((gateway) => this.desk.submit(name, { at: [gateway], fault }))),
    );
  }

  /** What is not true of the orders since the last time. */
  async judged(how: { forgetful?: boolean; lost?: boolean } = {}): Promise<readonly string[]> {
    const { orders, faults } = await this.desk.judge(how);
    this.count('orders', orders);
    return faults;
  }

  /** Responses without exactly one line in the trail of writes, and orders whose events do not fit their records. */
  override async atLast(): Promise<readonly string[]> {
    const expected = this.desk.answered.filter(({ by, ended, answer }) => {
      const killed = this.killed.get(by);
      // An overloaded gateway refuses before it reads the caller and the route.
      if (answer.code === 'overloaded') return false;
      return killed === undefined || ended < killed - KILLED_WITH_ITS_LINES_MS;
    });
    const wrong = () => {
      const lines = this.outputs().flatMap((output) => [...output.matchAll(AUDIT_LINE)]);
      const counts = Map.groupBy(lines, ([, id = '']) => id);
      return [
        ...expected.filter(({ requestId }) => !counts.has(requestId)).map(({ requestId }) => requestId),
        ...[...counts].filter(([, its]) => its.length > 1).map(([id]) => id),
      ];
    };
    await comesTrue(() => wrong().length === 0);
    this.count('requests', this.desk.submits);
    this.count('responses looked for in the trail', expected.length);
    this.count('carried out by the platform', (await this.sandbox.commits()).length);
    return [
      ...this.desk.unanswered.map((name) => `${name}: no response`),
      ...wrong().map((id) => `the response ${id} is not once in the trail of writes`),
      ...(this.#isEmptied ? [] : await feedFaults(this.fleet, this.hook)),
    ];
  }

  /** The database loses commits: {@link haveStopped} tells what the gateways make of it. */
  async lose(how: () => Promise<void>): Promise<void> {
    for (const gateway of this.fleet.gateways) this.#marks.set(gateway, gateway.output().length);
    await how();
    this.hook.lost();
  }

  /** Resolves once each gateway has looked at the database that came back: whether they have stopped orders, or take them. */
  async haveStopped(): Promise<boolean> {
    const hasStopped = (gateway: GatewayProcess) =>
      STOPPED.test(gateway.output().slice(this.#marks.get(gateway)));
    const taking = new Set<number>();
    await until('the gateways have looked at the database', async () => {
      for (const gateway of this.all)
        if (!taking.has(gateway) && (await this.#takesOne(gateway))) taking.add(gateway);
      return taking.size === this.all.length || this.fleet.gateways.some(hasStopped);
    });
    if (taking.size === this.all.length && !this.fleet.gateways.some(hasStopped)) return false;
    await until('every gateway has stopped orders', () => this.fleet.gateways.every(hasStopped));
    return true;
  }

  /** An operator confirms the database as it is, and the gateways go on. */
  async confirm(): Promise<void> {
    const env = { PATH: process.env['PATH'], ...this.environment };
    await promisify(execFile)(process.execPath, ['dist/bundle/database-init.js', '--yes'], { env });
    for (const gateway of this.all) await this.takesOrders(gateway);
  }

  async empty(): Promise<void> {
    const drop =
      "SELECT 'DROP TABLE ' || string_agg(tablename, ', ') AS text FROM pg_tables WHERE schemaname = current_schema()";
    const [found] = await askDatabase(this.databaseUrl, drop);
    this.#isEmptied = true;
    // The gateways use these tables: a statement of theirs may deadlock with it.
    await until('the tables are dropped', () =>
      askDatabase(this.databaseUrl, String(found?.['text'])).then(() => true),
    );
  }

  /** One more gateway, with a proxy between it and the database. `end` takes both away. */
  async throughProxy(): Promise<{ gateway: number; proxy: FaultProxy; end: () => Promise<void> }> {
    const url = new URL(this.databaseUrl);
    const proxy = await FaultProxy.start(Number(url.port));
    url.port = String(proxy.port);
    const gateway = this.fleet.gateways.push(await this.launch({ DATABASE_URL: url.href })) - 1;
    await this.takesOrders(gateway);
    const end = async () => {
      await this.end(this.fleet.gateways.pop() as GatewayProcess);
      await proxy.close();
    };
    return { gateway, proxy, end };
  }

  /** The leases end of what is being sent. */
  async endLeases(ms: number): Promise<void> {
    await until('the leases have ended', async () => {
      await this.records.pass(ms);
      return true;
    });
  }

  /** Waits until no order counts as being sent: every orphaned lease has ended. */
  async settled(): Promise<void> {
    await until('no order is being sent', async () => (await this.records.sending()) === 0);
  }

  override async clear(): Promise<void> {
    await this.records.close();
    this.hook.close();
    await super.clear();
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }
}
