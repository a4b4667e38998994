import { confirmStore } from '../../support/confirm-store.ts';
import type { GatewayProcess } from '../../support/gateway-process.ts';
import { ask, comesTrue, type RunningRedis, startRedis, until } from '../../support/redis.ts';
import { ChaosStage, type Parts, partsOf, type Setting } from '../stage.ts';
import { OrderDesk } from './desk.ts';
import { feedFaults } from './feed.ts';
import { Hook } from './hook.ts';
import { DEADLINE_MS, faultRules } from './plan.ts';
import { Records } from './records.ts';

const AUDIT_LINE = /"event":"audit","requestId":"([\w-]+)"/g;
/** A killed process loses the line that it is writing, since a write does not wait for the log. */
const KILLED_WITH_ITS_LINES_MS = 2_000;

const LOGGED = ['--appendonly', 'yes', '--appendfsync', 'always'];
/** A log that has to be written anew after the first copy. */
const WRITTEN = /aof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/;

/** A platform that fails, gateways with short deadlines, and an order store that survives kills, unless the variant prevents that. */
export class OrderStage extends ChaosStage {
  readonly desk: OrderDesk;
  readonly records: Records;
  /** A receiver of webhooks. */
  readonly hook: Hook;
  #replica: RunningRedis | undefined;
  #promoted: RunningRedis[] = [];
  #confirmed = 0;
  #isEmptied = false;

  private constructor(parts: Parts, records: Records, hook: Hook) {
    super(parts);
    this.desk = new OrderDesk(parts.fleet, parts.sandbox);
    this.records = records;
    this.hook = hook;
  }

  static async set(setting: Setting): Promise<OrderStage> {
    const parts = await partsOf({
      ...setting,
      environment: {
        UPSTREAM_ORDER_DEADLINE_MS: String(DEADLINE_MS),
        WEBHOOK_HOSTS: '127.0.0.1',
        ...setting.environment,
      },
      variantsFile: 'test/chaos/orders/variants.ts',
      isLogged: setting.variant !== 'store-without-persistence',
    });
    await parts.sandbox.fault(faultRules());
    const records = await Records.open({ ...parts.environment });
    const stage = new OrderStage(parts, records, await Hook.open(parts.fleet));
    // Fetches tokens and runs the code once before the test.
    await Promise.all(stage.all.map((gateway) => stage.takesOrders(gateway, 'first')));
    return stage;
  }

  /** The indexes of the gateways. */
  get all(): number[] {
    return [...this.fleet.gateways.keys()];
  }

  async takesOrders(gateway: number, name: string): Promise<void> {
    await until(`gateway ${gateway} takes orders`, async () => {
      const { status } = await this.desk.place(gateway, `${name}-${gateway}-${this.#confirmed++}`);
      return status === 201;
    });
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
      ...wrong().map((id) => `the response ${id} is not once in the trail of writes`),
      ...(this.#isEmptied ? [] : await feedFaults(this.fleet, this.hook)),
    ];
  }

  /** The store gets a replica, which from now on gets no more writes; the master cannot see that for a minute. */
  async lagReplica(): Promise<void> {
    const { running: master } = this.store;
    const replica = await startRedis([...LOGGED, '--replicaof', '127.0.0.1', String(master.port)]);
    this.#replica = replica;
    const isKnown = (gateway: GatewayProcess) =>
      gateway.output().includes('"event":"order-store-replicas","replicas":1');
    await until('every gateway knows of the replica', () => this.fleet.gateways.every(isKnown));
    await until('the replica acknowledges', () =>
      ask(master, async (client) => {
        await client.set('{stage}:followed', 1);
        return (await client.wait(1, 200)) === 1;
      }),
    );
    await until('the replica has its data in its log', () =>
      ask(replica, async (client) => WRITTEN.test(await client.info('persistence'))),
    );
    replica.freeze();
  }

  /** The replica is the master for a gateway that starts, while the old master goes on, as after a failover between two networks. */
  async promoteReplica(): Promise<number> {
    const replica = this.#replica as RunningRedis;
    const { port, folder } = replica;
    await replica.kill9();
    const promoted = await startRedis([...LOGGED, '--port', String(port), '--dir', folder]);
    // Without a replica of its own it would count as one that was left behind.
    this.#promoted = [promoted, await startRedis(['--replicaof', '127.0.0.1', String(port)])];
    return this.fleet.gateways.push(await this.launch({ ORDER_REDIS_URL: promoted.url })) - 1;
  }

  /** The promoted server ends, with the gateway that had it, and an operator says that there is no replica any more. */
  async dropPromoted(): Promise<void> {
    await this.end(this.fleet.gateways.pop() as GatewayProcess);
    await this.#stopReplica();
    await this.confirm();
  }

  async #stopReplica(): Promise<void> {
    for (const server of [...this.#promoted, this.#replica]) await server?.stop();
    this.#promoted = [];
    this.#replica = undefined;
  }

  /** An operator confirms the store as it is, and the gateways go on. */
  async confirm(): Promise<void> {
    await confirmStore(this.environment);
    await until('the test reads the epoch', async () => {
      await this.records.refresh();
      return true;
    });
    for (const gateway of this.all) await this.takesOrders(gateway, 'confirmed');
  }

  async emptyStore(): Promise<void> {
    this.#isEmptied = true;
    await ask(this.store, (client) => client.flushall());
  }

  /** Waits until no order counts as being sent: every orphaned lease has ended. */
  async settled(): Promise<void> {
    await until(
      'no order is being sent',
      async () => this.records.up && (await this.records.count('sending')) === 0,
    );
  }

  override async clear(): Promise<void> {
    this.records.close();
    this.hook.close();
    await this.#stopReplica();
    await super.clear();
  }
}
