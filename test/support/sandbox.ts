import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type RunningSandbox, startSandbox } from '../../sandbox/server.ts';
import { newSecret } from './canary.ts';

export type SandboxOptions = Partial<Parameters<typeof startSandbox>[0]>;

export interface JournalEntry {
  readonly id: number;
  /** When it arrived, RFC 3339. */
  readonly at: string;
  readonly operation: string | null;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly status: number | null;
  readonly code: string | null;
  readonly committed: boolean;
}

/** The platform for a test: a real sandbox on a free port, with credentials made up for it, and its control side. */
export class TestSandbox {
  readonly appKey = newSecret('a');
  // The secret has characters that Basic authentication must encode.
  readonly appSecret = `${newSecret('s')}:+%/é`;
  #running!: RunningSandbox;

  static async start(options: SandboxOptions = {}): Promise<TestSandbox> {
    const sandbox = new TestSandbox();
    await sandbox.open(options);
    return sandbox;
  }

  async open(options: SandboxOptions = {}): Promise<void> {
    const { appKey, appSecret } = this;
    const madeUp = { appKey, appSecret, seedPassword: newSecret('u'), tokenPrefix: newSecret('t', 12) };
    this.#running = await startSandbox({ ...madeUp, ...options });
  }

  /** The password of every seeded user, who logs in as `account@enterprise`. */
  get seedPassword(): string {
    return this.#running.seedPassword;
  }

  get url(): string {
    return this.#running.url;
  }

  get tokenUrl(): string {
    return this.#running.tokenUrl;
  }

  close(): Promise<void> {
    return this.#running.close();
  }

  /** Resets everything but tokens to the seed. */
  reset(body: object = {}): Promise<unknown> {
    return this.control('POST', '/reset', body);
  }

  /** Returns what {@link heal} takes. */
  async fault(rule: object): Promise<readonly string[]> {
    return ((await this.control('POST', '/faults', rule)) as { ids: string[] }).ids;
  }

  /** Removes fault rules; the rest of the state stays. */
  async heal(ids: readonly string[]): Promise<void> {
    for (const id of ids) await this.control('DELETE', `/faults/${id}`);
  }

  async journal(operation?: string): Promise<JournalEntry[]> {
    const query = operation ? `?operation=${operation}` : '';
    return ((await this.control('GET', `/journal${query}`)) as { entries: JournalEntry[] }).entries;
  }

  /** Calls of the platform's API, token requests left out. */
  async calls(): Promise<JournalEntry[]> {
    return (await this.journal()).filter(({ operation }) => operation !== 'token');
  }

  async commits(): Promise<{ channelCode: string; channelOrderId: string; licenseOrderIds: string[] }[]> {
    return (await this.control('GET', '/commits')) as never;
  }

  revokeTokens(which: object = {}): Promise<unknown> {
    return this.control('POST', '/tokens/revoke', which);
  }

  /** Makes these secrets valid, and no others. */
  acceptSecrets(...secrets: string[]): Promise<unknown> {
    return this.control('PUT', '/app-secrets', { secrets });
  }

  /** How many calls fault rules have spoiled since the last reset; counted when a call arrives. */
  async spoiled(): Promise<number> {
    const { faults } = (await this.control('GET', '/faults')) as { faults: { hits: number }[] };
    return faults.reduce((sum, { hits }) => sum + hits, 0);
  }

  /**
   * Waits until fault rules have spoiled `count` calls since the last reset. Rejects where one of the `requests` that should make them ends
   * before, with what it got.
   */
  async untilSpoiled(count: number, ...requests: Promise<unknown>[]): Promise<void> {
    const ended: unknown[] = [];
    for (const request of requests)
      request.then(
        (answer) => ended.push(answer),
        (error: unknown) => ended.push(error),
      );
    for (let endedBefore = 0; ; endedBefore = ended.length) {
      if ((await this.spoiled()) >= count) return;
      if (endedBefore > 0)
        throw new Error(`ended before a fault rule spoiled its call: ${inspect(ended[0])}`);
      await sleep(25);
    }
  }

  advance(advanceMs: number): Promise<unknown> {
    return this.control('PUT', '/clock', { advanceMs });
  }

  /** Any call of the control side; without HTTP, since tests make many of them. Rejects where it refuses. */
  async control<T = unknown>(method: string, path: string, body?: object): Promise<T> {
    // What is under way goes on first, as it would beside a call over HTTP.
    await setImmediate();
    const { status, text } = this.#running.control(method, path, body && JSON.stringify(body));
    if (status >= 400) throw new Error(`sandbox ${method} ${path}: ${status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
}
