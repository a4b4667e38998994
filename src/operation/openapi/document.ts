import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ProblemDto } from '../../problem/problem.dto.ts';
import { JSON_TYPE, PATCH_TYPES } from '../../shared/json-types.ts';
import { version } from '../../shared/shipped-file.ts';
import { addCallerHeaders } from './caller-headers.ts';
import { finishSchemas } from './document-schemas.ts';
import { addWebhooks } from './document-webhooks.ts';
import { API_KEY, BEARER } from './operation-description.ts';
import { addCommonProblems, commonProblemsText } from './problem-responses.ts';

/** The introduction for a reader of the OpenAPI document: the first steps, and the words of the domain. */
const DESCRIPTION = `One REST interface in front of the licensing platform, for internal services.

1. *Authorize* with an API key: the demo prints one in its terminal; elsewhere the operator of the gateway gives out keys.
2. Open an operation and press *Execute*: every example works against the demo unchanged, in any order and any number of times. *Dry run* beside it says what the request would do, and sends nothing.
3. Every error is \`application/problem+json\`; its \`type\` leads to the page that explains it.

A generator that does not read OpenAPI 3.1 takes the copy of this document in 3.0: [\`/openapi-3.0.json\`](/openapi-3.0.json). Postman imports [\`/postman-collection.json\`](/postman-collection.json).

| word | what it is |
| --- | --- |
| enterprise | A company's main account on the platform (\`enterpriseGlobalId\`). It has members, customers and assets |
| channel | A system through which orders reach the platform, such as a CRM (\`channelCode\`) |
| customer | An enterprise as a channel knows it: \`customerId\` on the platform, \`channelCustomerId\` in the channel |
| asset | What holds licences: a cloud account, a software key, or a hardware lock. Known by \`assetId\` and \`assetNum\` |
| product | A licence on an asset (\`productUri\`), with its time and number of users. A merchandise is a package of products |
| order | Buys or revokes assets and products. \`channelCode\` and \`channelOrderId\` name it, and it is placed at most once |
| lock | A hardware asset. It can be disabled and enabled |
| lent lock | A lock into which members move licences of their assets, to use them away from the network |
| member | An employee of an enterprise who logs in to the platform. Assets are assigned to members |

What a request may contain, beside its schemas:

- A string of the format \`id\` has no control or invisible characters, and no blanks around it. It is compared character by character.
- A string of the format \`text\` may have what names in any script need, tabs and line ends. It has no other control characters, and neither U+202D nor U+202E, which show letters in another order. The gateway brings it to Unicode normal form C and removes blanks around it, unless the field says that it is passed on unchanged.
- Blanks around accounts, durations and digits in strings are removed. A password is never changed: a new one with blanks around it is refused.
- A \`date-time\` is any time of RFC 3339. Its fraction is cut to milliseconds, and a leap second is the last millisecond before it.
- An integer may be spelled as \`5.0\` or \`5e0\`.
- A \`Content-Type\` may have any parameters; its \`charset\`, if any, is UTF-8.`;

export type ResponseExamples = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export function openApiDocument(app: INestApplication, examples: ResponseExamples): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Licensing gateway')
    .setDescription(`${DESCRIPTION}\n\n${commonProblemsText}`)
    .setVersion(version)
    .addApiKey(
      {
        type: 'apiKey',
        in: 'header',
        name: 'X-Api-Key',
        description:
          'The demo prints its key; elsewhere the operator of the gateway gives out keys. Send it or a token, never both: where a generated client asks for the credential of each scheme, give it for one (`@hey-api/openapi-ts`: `auth: ({ type }) => type === "apiKey" ? key : undefined`)',
      },
      API_KEY,
    )
    .addBearerAuth(
      {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'Where an issuer is configured. Send it or a key, never both',
      },
      BEARER,
    )
    .addTag('Customers and enterprises', 'Enterprises, their customers and their assets')
    .addTag('Licence orders', 'Place, revoke and settle orders')
    .addTag('Locks and asset numbers', 'Disable and enable physical locks, and reserve numbers')
    .addTag('Sessions', 'Log users of the platform in and out')
    .addTag('Members', 'The employees of an enterprise, and their asset numbers and lent locks')
    .addTag(
      'Jobs',
      'Imports that run for longer than a request: their progress and the results of their rows',
    )
    .addTag('Estate', 'What all enterprises have, from a copy that says how old it is')
    .addTag('Events', 'What became of orders and jobs, as one feed')
    .addTag('Webhooks', 'Events sent to a receiver of yours')
    .addTag('Gateway', 'What a key may do, and where the platform departs from its interface')
    .addTag('Meta', 'Health and the error catalogue; they need no key')
    .addServer('/');
  const document = SwaggerModule.createDocument(app, builder.build(), {
    extraModels: [ProblemDto],
  });
  dropUndescribedResponses(document);
  addWebhooks(document);
  finishSchemas(document);
  addCommonProblems(document);
  addCallerHeaders(document);
  addExamples(document, examples);
  takeMergePatches(document);
  tellLengths(document);
  return withPlainNames(document);
}

/**
 * Removes undescribed responses. The build's plugin adds one for the status that it guesses from the method, and declared responses have a
 * description.
 */
function dropUndescribedResponses(document: OpenAPIObject): void {
  for (const path of Object.values(document.paths)) {
    for (const { responses } of Object.values(path as object) as {
      responses: Record<string, { description: string }>;
    }[]) {
      for (const [status, { description }] of Object.entries(responses))
        if (description === '') delete responses[status];
    }
  }
}

function addExamples(document: OpenAPIObject, examples: ResponseExamples): void {
  for (const path of Object.values(document.paths)) {
    for (const { operationId, responses } of Object.values(path as object) as Described[]) {
      for (const [status, example] of Object.entries(examples[operationId] ?? {})) {
        const media = responses[status]?.content?.['application/json'];
        if (media) media.example = example;
      }
    }
  }
}

/**
 * Adds the type of merge patches (RFC 7396). Each PATCH has a body with the changes, so clients may call it a merge patch, also in its dry
 * run.
 */
function takeMergePatches(document: OpenAPIObject): void {
  for (const [path, { patch, post }] of Object.entries(document.paths)) {
    const [write = '', run] = path.split('/dry-run');
    const operation = patch ?? (run !== undefined && document.paths[write]?.patch ? post : undefined);
    const { content } = (operation?.requestBody ?? {}) as { content?: Record<string, object> };
    const json = content?.[JSON_TYPE];
    if (json) for (const type of PATCH_TYPES) content[type] = json;
  }
}

/**
 * Adds formats to integers. Generators treat an integer without a format as one of any length. Some of our counts are the platform's, which
 * may have any size.
 */
function tellLengths(part: unknown): void {
  if (typeof part !== 'object' || part === null) return;
  const schema = part as { type?: string | string[]; format?: string; minimum?: number; maximum?: number };
  const isCount = schema.minimum === 0 && schema.maximum === undefined;
  if ([schema.type].flat().includes('integer')) schema.format ??= isCount ? 'int64' : 'int32';
  for (const [key, each] of Object.entries(part)) if (!/^examples?$/.test(key)) tellLengths(each);
}

interface Described {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { content?: Readonly<Record<string, { example?: unknown }>> } | undefined>
  >;
}

/** Renames schemas to `Customer` instead of `CustomerDto`, because generated clients use the names of the contract. */
function withPlainNames(document: OpenAPIObject): OpenAPIObject {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const renamed = Object.fromEntries(schemas.map(([name, schema]) => [name.replace(/Dto$/, ''), schema]));
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas: renamed } });
  return JSON.parse(text.replaceAll(/(#\/components\/schemas\/\w+?)Dto"/g, '$1"')) as OpenAPIObject;
}
