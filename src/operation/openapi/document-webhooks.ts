import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';

const TEXT = { type: 'string' } as const;

/** The headers of a delivery (Standard Webhooks). */
const HEADERS = [
  ['webhook-id', 'The id of the event; the same in every attempt, so that a receiver sees repeats'],
  ['webhook-timestamp', 'When it was sent, in seconds since the epoch'],
  [
    'webhook-signature',
    '`v1,` and HMAC-SHA256 of id, time and body in base64; with spaces in between where there are several',
  ],
] as const;

/** Adds the deliveries that receivers of webhooks get. They are no path of the gateway. */
export function addWebhooks(document: OpenAPIObject): void {
  const sent = (name: string, summary: string, schema: string) => [
    name,
    {
      post: {
        operationId: name,
        summary,
        tags: ['Webhooks'],
        security: [],
        parameters: HEADERS.map(([header, description]) => ({
          ...{ name: header, in: 'header' as const, required: true, description, schema: TEXT },
        })),
        requestBody: {
          required: true,
          content: { 'application/cloudevents+json': { schema: { $ref: getSchemaPath(schema) } } },
        },
        responses: {
          '2XX': { description: 'It is delivered; the content of the answer counts for nothing' },
          '410': { description: 'The webhook is switched off' },
          default: { description: 'It is sent again later; `Retry-After` up to an hour is obeyed' },
        },
      },
    },
  ];
  document.webhooks = Object.fromEntries([
    sent('event', 'What became of an order or a job', 'EventDto'),
    sent('testEvent', 'What `testWebhook` sends', 'TestEventDto'),
  ]) as NonNullable<OpenAPIObject['webhooks']>;
}
