import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { Webhook as Verifier } from 'standardwebhooks';
import { signWebhook, verifyWebhook, WebhookRefused } from '../src/webhooks.ts';

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;
const secret = newSecret();
const event = { id: '000000000000042', type: 'job.failed', subject: 'ümläut' };
const body = JSON.stringify(event);

describe('a request to the receiver of a webhook', () => {
  it('gives its event where the gateway signed it, whatever form the headers have', async () => {
    const headers = await signWebhook(event.id, body, secret);
    const upper = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    // The form of `headersDistinct` in Node, and of the events of some clouds.
    const lists = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
    for (const form of [headers, new Headers(headers), upper, lists])
      expect(await verifyWebhook(body, form, secret)).toEqual(event);
    expect(await verifyWebhook(Buffer.from(body), headers, secret)).toEqual(event);
    expect(new Verifier(secret).verify(body, headers)).toEqual(event);
  });

  it('is of the gateway if one of several signatures is of this secret', async () => {
    const former = newSecret();
    const at = new Date();
    const [now, before] = [
      await signWebhook(event.id, body, secret, at),
      await signWebhook(event.id, body, former, at),
    ];
    const both = `${now['webhook-signature']} ${before['webhook-signature']}`;
    for (const one of [secret, former])
      expect(await verifyWebhook(body, { ...now, 'webhook-signature': both }, one)).toEqual(event);
  });

  it.each<[string, (headers: Record<string, string>) => unknown]>([
    ['another body', (headers) => verifyWebhook(body.replace('failed', 'failes'), headers, secret)],
    ['another id', (headers) => verifyWebhook(body, { ...headers, 'webhook-id': 'x' }, secret)],
    ['another secret', (headers) => verifyWebhook(body, headers, newSecret())],
    ['two ids', (headers) => verifyWebhook(body, { ...headers, 'webhook-id': [event.id, 'x'] }, secret)],
    ['no id', (headers) => verifyWebhook(body, { ...headers, 'webhook-id': [] }, secret)],
    ['no signature', ({ 'webhook-signature': _, ...headers }) => verifyWebhook(body, headers, secret)],
    [
      'another version of signatures',
      (headers) =>
        verifyWebhook(
          body,
          { ...headers, 'webhook-signature': String(headers['webhook-signature']).replace('v1,', 'v2,') },
          secret,
        ),
    ],
    ['no base64', (headers) => verifyWebhook(body, { ...headers, 'webhook-signature': 'v1,é' }, secret)],
    [
      'a time that is none',
      (headers) => verifyWebhook(body, { ...headers, 'webhook-timestamp': '1e9' }, secret),
    ],
  ])('is refused with %s', async (_, asked) => {
    await expect(asked({ ...(await signWebhook(event.id, body, secret)) })).rejects.toThrow(WebhookRefused);
  });

  // The second one comes nearer while a slow machine signs it.
  it.each([-301, 330])('is refused where it was sent %d s from now', async (seconds) => {
    const headers = await signWebhook(event.id, body, secret, new Date(Date.now() + seconds * 1_000));
    await expect(verifyWebhook(body, headers, secret)).rejects.toThrow('5 minutes');
  });

  it('a body that was parsed before is a mistake of the receiver, which the error names', async () => {
    const headers = await signWebhook(event.id, body, secret);
    for (const parsed of [event, [], null, undefined])
      await expect(verifyWebhook(parsed as never, headers, secret)).rejects.toThrow(
        /^rawBody has to be the body/,
      );
  });

  it('a secret in another form is a mistake of the receiver, not of the request', async () => {
    const headers = await signWebhook(event.id, body, secret);
    for (const wrong of ['', 'whsec_', 'whsec_é', secret.slice(6)])
      await expect(verifyWebhook(body, headers, wrong)).rejects.toThrow(TypeError);
  });
});
