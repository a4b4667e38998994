import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import { ProblemDto } from '../problem/problem.dto.ts';
import { addCallerHeaders } from './caller-headers.ts';
import { API_KEY, BEARER } from './operation.decorator.ts';

const DESCRIPTION = `One REST interface in front of the licensing platform, for internal services.

Press *Authorize* and paste an API key, then *Try it out*: the examples work against the demo as they stand and chain
(what one creates, the next one uses). Every error is \`application/problem+json\`; its \`type\` links to the page that explains it.`;

/** The OpenAPI 3.1 document, made from the routes themselves. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Licensing gateway')
    .setDescription(DESCRIPTION)
    .setVersion('1')
    .addApiKey(
      { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'A key from the callers file' },
      API_KEY,
    )
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Where an issuer is configured' },
      BEARER,
    )
    .addTag('Customers and enterprises', 'Who buys: enterprises, their customers, and what they own')
    .addTag('Licence orders', 'Buying and revoking')
    .addTag('Locks and asset numbers', 'Physical locks on and off, and new numbers')
    .addTag('Sessions', 'Logging users of the platform in and out')
    .addTag('Members', 'The employees of an enterprise, and the asset numbers and lent locks they have')
    .addTag('Meta', 'Health and the error catalogue: no key needed')
    .addServer('/');
  const document = SwaggerModule.createDocument(app, builder.build(), { extraModels: [ProblemDto] });
  dropUndescribedResponses(document);
  closeRequestSchemas(document);
  addCallerHeaders(document);
  return withPlainNames(document);
}

/** The build's plugin adds a response for the status it guesses from the method; what we declare has a description. */
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

type Schemas = Record<string, { type?: string; additionalProperties?: boolean }>;

/** Unknown fields are refused, so the schemas of requests say so. */
function closeRequestSchemas(document: OpenAPIObject): void {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const visit = (part: unknown, seen: Set<string>): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      const schema = schemas[name];
      if (!schema || seen.has(name)) continue;
      seen.add(name);
      if (schema.type === 'object') schema.additionalProperties = false;
      visit(schema, seen);
    }
  };
  const bodies = Object.values(document.paths).flatMap(
    (path) => Object.values(path as object) as { requestBody?: object }[],
  );
  visit(
    bodies.map(({ requestBody = {} }) => requestBody),
    new Set(),
  );
}

/** `Customer` instead of `CustomerDto`: generated clients carry the names of the contract. */
function withPlainNames(document: OpenAPIObject): OpenAPIObject {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const renamed = Object.fromEntries(schemas.map(([name, schema]) => [name.replace(/Dto$/, ''), schema]));
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas: renamed } });
  return JSON.parse(text.replaceAll(/(#\/components\/schemas\/\w+?)Dto"/g, '$1"')) as OpenAPIObject;
}
