import type { Event, TestEvent } from '../licensing.ts';
import { signWebhook } from '../webhooks.ts';
import { checkUrl } from './access.ts';
import { UsageError } from './command.ts';
import { print, type Shown, tell } from './output.ts';
import { secretOf } from './secret-of.ts';

const AS_LONG_MS = 10_000;
const SECRET_BYTES = 32;

interface ReceiverOptions extends Shown {
  readonly forwardTo: string;
  readonly secret?: string;
}

/** A receiver of webhooks on this machine. */
export class Receiver {
  readonly #url: string;
  readonly #secret: string;

  private constructor(url: string, secret: string) {
    this.#url = url;
    this.#secret = secret;
  }

  /** Makes a receiver with the options of a command. If the environment has no secret, it prints a new one. */
  static async of({ forwardTo, secret: refused, json }: ReceiverOptions): Promise<Receiver> {
    checkUrl('--forward-to', forwardTo);
    if (refused !== undefined)
      throw new UsageError(
        '--secret is not taken, since other users of the machine see command lines: set LICENSING_WEBHOOK_SECRET or LICENSING_WEBHOOK_SECRET_FILE',
      );
    const own = secretOf('LICENSING_WEBHOOK_SECRET');
    const secret = own ?? newSecret();
    await signWebhook('', '', secret).catch(({ message }: Error) => {
      throw new UsageError(`LICENSING_WEBHOOK_SECRET: ${message}`);
    });
    const told = `The receiver verifies with the secret ${secret}`;
    if (own === undefined && json) tell(told);
    else if (own === undefined) print(`${told}\n`);
    return new Receiver(forwardTo, secret);
  }

  /** Sends an event once, signed as the gateway signs it. Resolves to the status of the response, or to the reason why there is none. */
  async send(event: Event | TestEvent): Promise<string> {
    const body = JSON.stringify(event);
    const headers = {
      ...(await signWebhook(event.id, body, this.#secret)),
      'content-type': 'application/cloudevents+json',
    };
    const signal = AbortSignal.timeout(AS_LONG_MS);
    return fetch(this.#url, { method: 'POST', headers, body, signal, redirect: 'manual' }).then(
      ({ status }) => `${status}`,
      (error: unknown) => (signal.aborted ? 'no answer in 10 s' : `not reached: ${reasonOf(error)}`),
    );
  }
}

function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))}`;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message : message;
}
