import type { Event, Licensing } from '../licensing.ts';
import { signWebhook } from '../webhooks.ts';
import { checkUrl, type Given, UsageError } from './arguments.ts';
import { outages } from './outages.ts';
import { plain } from './output.ts';
import { secretOf } from './secret-of.ts';

const AS_LONG_MS = 10_000;
const SECRET_BYTES = 32;

/** Sends each event to a receiver on this machine, signed as the gateway signs it, once, whatever the receiver answers. Ends with the process. */
export async function listen(
  given: Given,
  licensing: Licensing,
  write: (line: string) => void,
): Promise<never> {
  const { type, 'forward-to': url = '' } = given.text;
  checkUrl('--forward-to', url);
  if (given.text['secret'] !== undefined)
    throw new UsageError(
      '--secret is not taken, since other users of the machine see command lines: set LICENSING_WEBHOOK_SECRET or LICENSING_WEBHOOK_SECRET_FILE',
    );
  const own = secretOf('LICENSING_WEBHOOK_SECRET');
  const secret = own ?? newSecret();
  if (own === undefined) write(`The receiver verifies with the secret ${secret}\n`);
  const types = type?.split(',') as Event['type'][] | undefined;
  for await (const event of licensing.events.each({ types }, outages(given))) {
    const body = JSON.stringify(event);
    const headers = {
      ...(await signWebhook(event.id, body, secret)),
      'content-type': 'application/cloudevents+json',
    };
    const signal = AbortSignal.timeout(AS_LONG_MS);
    const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' }).then(
      ({ status }) => `${status}`,
      (error: unknown) => (signal.aborted ? 'no answer in 10 s' : `not reached: ${reasonOf(error)}`),
    );
    write(`${plain(`${event.time}  ${event.type}  ${event.subject}  ${answer}`)}\n`);
  }
  throw new Error('the stream of events has no end');
}

function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(SECRET_BYTES))))}`;
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return cause instanceof Error ? cause.message : message;
}
