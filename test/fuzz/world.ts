import { isDeepStrictEqual } from 'node:util';
import { wrongWith } from './cases.ts';
import { type FuzzStage, type Reply, sentOf } from './stage.ts';

type Body = Record<string, unknown>;

export interface Member {
  readonly id: string;
  account: string;
  /** With the enterprise's suffix, for login. */
  login: string;
  name: string;
  password: string;
}

export interface Order {
  readonly channelOrderId: string;
  readonly request: Body;
  readonly status: number;
  readonly record: Body;
  readonly licenseOrderId: string;
  readonly assetNum: string;
}

interface Request {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

let worlds = 0;

/**
 * The records of one sequence, which it must find again: an enterprise of its own with all that belongs to it. Every response is
 * checked against the document.
 */
export class World {
  readonly members = new Map<string, Member>();
  /** Deleted members, and revoked assets: none of them may be used. */
  readonly gone: Member[] = [];
  readonly orders: Order[] = [];
  readonly revoked: Order[] = [];
  /** Live assets, and the member each is assigned to. */
  readonly assets = new Map<string, string | null>();
  readonly crm: string;
  readonly customerName: string;
  enterprise = '';
  requests = 0;
  /** The steps so far. */
  readonly taken: string[] = [];
  #made = 0;
  readonly #stage: FuzzStage;

  private constructor(stage: FuzzStage) {
    this.#stage = stage;
    this.crm = `W-${process.pid}-${++worlds}`;
    this.customerName = `World ${this.crm}`;
  }

  static async make(stage: FuzzStage): Promise<World> {
    const world = new World(stage);
    const body = { crmCustomerId: world.crm, customerName: world.customerName };
    const made = await world.expect(201, 'POST', '/v1/enterprises', { body });
    world.enterprise = made.body['enterpriseGlobalId'] as string;
    for (const item of await world.listMembers()) {
      const { memberGlobalId: id, userName: login, name } = item as Record<string, string>;
      if (id === undefined || login === undefined || name === undefined)
        throw new Error('a member without an id');
      const [account = ''] = login.split('@');
      world.members.set(id, { id, login, account, name, password: stage.sandbox.seedPassword });
    }
    return world;
  }

  /** A name that no record has had. */
  fresh(prefix: string): string {
    return `${prefix}${++this.#made}`;
  }

  get place(): string {
    return `/v1/enterprises/${this.enterprise}`;
  }

  /** Sends the request, and makes the checks that hold for every response. */
  async ask(method: string, target: string, request: Request = {}): Promise<Reply> {
    this.requests++;
    const sent = sentOf(method, target, request);
    const reply = await this.#stage.reply(sent);
    const wrong = wrongWith(this.#stage, { sent, expected: 'anything' }, reply);
    if (wrong) throw new Error(`${method} ${target}: ${wrong}`);
    return reply;
  }

  /** Sends the request, and throws for another response. */
  async expect(
    expected: number | readonly [number, string],
    method: string,
    target: string,
    request?: Request,
  ): Promise<Reply> {
    const answer = await this.ask(method, target, request);
    const [status, code] = typeof expected === 'number' ? [expected, undefined] : expected;
    if (answer.status !== status || (code !== undefined && answer.body['code'] !== code))
      throw new Error(`${answer.status} instead of ${status} ${code ?? ''}: ${answer.text.slice(0, 600)}`);
    return answer;
  }

  /** Throws when they differ, in any order. */
  sameAll(what: string, found: readonly unknown[], expected: readonly unknown[]): void {
    const texts = (list: readonly unknown[]) => list.map((each) => JSON.stringify(each)).toSorted();
    this.same(what, texts(found), texts(expected));
  }

  same(what: string, found: unknown, expected: unknown): void {
    if (!isDeepStrictEqual(found, expected))
      throw new Error(`${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`);
  }

  async listMembers(): Promise<readonly Body[]> {
    const { body } = await this.expect(200, 'GET', `${this.place}/members?pageSize=200`);
    return body['items'] as Body[];
  }

  /** The listed members must be those of this record. */
  async seeMembers(): Promise<void> {
    const found = (await this.listMembers()).map(({ memberGlobalId, userName, name }) => [
      memberGlobalId,
      userName,
      name,
    ]);
    const known = [...this.members.values()].map(({ id, login, name }) => [id, login, name]);
    this.sameAll('members', found, known);
  }

  async listAssets(): Promise<readonly Body[]> {
    const { body } = await this.expect(200, 'GET', `${this.place}/assets`);
    return body['items'] as Body[];
  }

  async seeAssets(): Promise<void> {
    const found = (await this.listAssets()).map(({ assetNum }) => assetNum);
    this.sameAll('assets', found, [...this.assets.keys()]);
    const { body } = await this.expect(200, 'GET', `${this.place}/asset-nums`);
    const owners = (body['items'] as Body[]).map(({ assetNum, memberGlobalId }) => [
      assetNum,
      memberGlobalId,
    ]);
    this.sameAll('owners of asset numbers', owners, [...this.assets]);
  }

  async seeOrder(channelOrderId: string, expected: Body): Promise<void> {
    const { body } = await this.expect(200, 'GET', `/v1/license-orders/crm/${channelOrderId}`);
    this.sameOrder(body, expected);
  }

  /** A store that got the write late has another time of settlement than the response. */
  sameOrder({ settledAt: _, ...found }: Body, { settledAt: __, ...expected }: Body): void {
    this.same('the record of the order', found, expected);
  }

  async login({ login, password }: Member): Promise<void> {
    await this.expect(201, 'POST', '/v1/sessions', { body: { username: login, password } });
  }

  async seeNoLogin({ login, password }: Member): Promise<void> {
    const body = { username: login, password };
    await this.expect([401, 'login-failed'], 'POST', '/v1/sessions', { body });
  }

  purchase(): Body {
    return {
      channelCode: 'crm',
      channelOrderId: this.fresh(`${this.crm}-`),
      items: [
        {
          orderType: 'new_buy',
          licenseType: 'cloud_account',
          customer: { crmCustomerId: this.crm },
          assets: [{ products: [{ productUri: 'cloud.model', limitConcurrent: 3 }] }],
        },
      ],
    };
  }
}
