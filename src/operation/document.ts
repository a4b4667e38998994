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
    .addTag('Customers and enterprises', 'Enterprises, their customers and their assets')
    .addTag('Licence orders', 'Place, revoke and settle orders')
    .addTag('Locks and asset numbers', 'Disable and enable physical locks, and reserve numbers')
    .addTag('Sessions', 'Log users of the platform in and out')
    .addTag('Members', 'The employees of an enterprise, and their asset numbers and lent locks')
    .addTag('Meta', 'Health and the error catalogue; they need no key')
    .addServer('/');
  const document = SwaggerModule.createDocument(app, builder.build(), { extraModels: [ProblemDto] });
  dropUndescribedResponses(document);
  nameEnumerations(document, closeRequestSchemas(document));
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

interface Schema {
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean;
  nullable?: boolean;
  'x-enumeration'?: string;
}
type Schemas = Record<string, Schema>;

/** Schemas of requests allow no further fields, because the gateway refuses unknown ones. */
function closeRequestSchemas(document: OpenAPIObject): ReadonlySet<Schema> {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const closed = new Set<Schema>();
  const visit = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/#\/components\/schemas\/(\w+)/g)) {
      const schema = schemas[name];
      if (!schema || closed.has(schema)) continue;
      closed.add(schema);
      if (schema.type === 'object') schema.additionalProperties = false;
      visit(schema);
    }
  };
  for (const path of Object.values(document.paths))
    for (const { requestBody = {} } of Object.values(path as object) as { requestBody?: object }[])
      visit(requestBody);
  return closed;
}

/**
 * Every enumeration is a schema of its own. Requests refer to it. Responses refer to it and allow any other text too, since the platform
 * may add words: then `x-extensible-enum` has the known words as well.
 */
function nameEnumerations(document: OpenAPIObject, requests: ReadonlySet<Schema>): void {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const named: Schemas = {};
  const replaced = (schema: Schema, isOpen: boolean): Schema => {
    const { 'x-enumeration': name, enum: all = [], type, nullable, ...others } = schema;
    if (name === undefined) return schema;
    const words = all.filter((word) => word !== null);
    named[name] = { type: 'string', enum: words };
    const $ref = `#/components/schemas/${name}`;
    if (!isOpen) return { ...others, $ref } as Schema;
    const isNullable =
      nullable === true || all.includes(null) || (Array.isArray(type) && type.includes('null'));
    const choices = [{ $ref }, { type: 'string' }, ...(isNullable ? [{ type: 'null' }] : [])];
    return { ...others, anyOf: choices, 'x-extensible-enum': words } as Schema;
  };
  for (const schema of Object.values(schemas))
    for (const [field, own] of Object.entries(schema.properties ?? {}))
      if (schema.properties) schema.properties[field] = replaced(own, !requests.has(schema));
  for (const path of Object.values(document.paths))
    for (const { parameters = [] } of Object.values(path as object) as { parameters?: Parameter[] }[])
      for (const parameter of parameters) nameParameter(parameter, replaced);
  Object.assign(schemas, named);
}

interface Parameter {
  schema?: Schema;
  'x-enumeration'?: string;
}

function nameParameter(parameter: Parameter, replaced: (schema: Schema, isOpen: boolean) => Schema): void {
  const { 'x-enumeration': name, schema } = parameter;
  if (schema && name !== undefined) {
    delete parameter['x-enumeration'];
    schema['x-enumeration'] = name;
  }
  if (schema) parameter.schema = replaced(schema, false);
}

/** `Customer` instead of `CustomerDto`: generated clients use the names of the contract. */
function withPlainNames(document: OpenAPIObject): OpenAPIObject {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const renamed = Object.fromEntries(schemas.map(([name, schema]) => [name.replace(/Dto$/, ''), schema]));
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas: renamed } });
  return JSON.parse(text.replaceAll(/(#\/components\/schemas\/\w+?)Dto"/g, '$1"')) as OpenAPIObject;
}
