import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Refusal } from './refusal.ts';

/** The gateway's bundle, which lies next to that of this program and has the content of the image. */
const GATEWAY = fileURLToPath(new URL('./gateway/dist/bundle/gateway.js', import.meta.url));
const FOLLOW_CLOCK = new URL('./follow-clock.js', import.meta.url).href;
const READY_WITHIN_MS = 60_000;
const LISTENING = /^.*"event":"listening".*$/m;

/** Runs the gateway as a separate process. */
export class GatewayProcess {
  readonly #child: ChildProcess;
  /** The code of its exit, or the signal that ended it. */
  readonly #gone: Promise<readonly [number | null, NodeJS.Signals | null]>;
  readonly #log: string[] = [];
  readonly #complaints: string[] = [];
  #isReady = false;
  #moved: Promise<unknown> = Promise.resolve();

  /** `log` receives its log lines. */
  constructor(environment: Readonly<Record<string, string>>, log?: NodeJS.WritableStream) {
    this.#child = spawn(process.execPath, ['--import', FOLLOW_CLOCK, GATEWAY], {
      // The process gets only these variables, because it must not use a real platform's settings.
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      // The process has its own group, so that it gets Ctrl-C once, from here.
      detached: true,
    });
    this.#gone = once(this.#child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
    this.#keep(this.#child.stdout, this.#log, log);
    this.#keep(this.#child.stderr, this.#complaints, log);
  }

  /** Resolves with its ports once it listens. `gone` is called if it ends later without a request. */
  async ready(gone: (why: string) => void): Promise<{ port: number; managementPort: number }> {
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), READY_WITHIN_MS);
    const line = await Promise.race([this.#listening(), this.#gone]);
    clearTimeout(impatience);
    if (typeof line !== 'string') throw new Refusal(`The gateway did not start: ${this.#why()}`);
    this.#isReady = true;
    void this.#gone.then(([code, signal]) => gone(signal ?? `code ${code}`));
    const { url, managementPort } = JSON.parse(line) as { url: string; managementPort: number };
    // A URL leaves out the port 80.
    return { port: Number(new URL(url).port || 80), managementPort };
  }

  /** Moves its clock. Resolves when the clock has moved, or the gateway has ended. */
  async moveClock(aheadMs: number): Promise<void> {
    // The messages are sent one after the other, because each reply belongs to the last message.
    this.#moved = this.#moved.then(() => {
      if (!this.#child.connected) return undefined;
      this.#child.send({ aheadMs });
      return Promise.race([once(this.#child, 'message'), this.#gone]);
    });
    await this.#moved;
  }

  /** Resolves when it has ended. */
  async stop(): Promise<void> {
    // SIGTERM would wait for a load balancer.
    this.#child.kill('SIGINT');
    await this.#gone;
  }

  /**
   * Keeps the output until the process is ready. Later output goes to `log` only. It is read in any case, so that the process does not
   * stall.
   */
  #keep(stream: Readable | null, texts: string[], log: NodeJS.WritableStream | undefined): void {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      if (!this.#isReady) texts.push(text);
      log?.write(text);
    });
  }

  #listening(): Promise<string> {
    return new Promise((resolve) => {
      this.#child.stdout?.on('data', () => {
        const line = this.#isReady ? undefined : LISTENING.exec(this.#log.join(''))?.[0];
        if (line !== undefined) resolve(line);
      });
    });
  }

  /** Returns its complaints without stacks, or else its last words. */
  #why(): string {
    const complaint = this.#complaints.join('').replaceAll(/^\s+at .*\n?/gm, '');
    return (complaint || this.#log.join('').slice(-1_000)).trim() || 'it printed nothing.';
  }
}
