import type { OpenAPIObject } from '@nestjs/swagger';
import type { Enumeration } from '../../shared/enumeration.ts';
import fieldTexts from './field-descriptions.json' with { type: 'json' };

/** Adds what the decorators of DTOs cannot say to the schemas of the document. */

/**
 * The meaning of a field or a parameter, by its name. A name has one meaning in the whole API, so a field of many DTOs is described once,
 * in the file. A DTO describes a field itself only if it has a particular meaning there.
 */
const fieldDescriptions: Readonly<Record<string, string>> = fieldTexts;

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  description?: string;
  default?: unknown;
  example?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  additionalProperties?: boolean;
  nullable?: boolean;
  anyOf?: Schema[];
  'x-enumeration'?: Pick<Enumeration, 'name' | 'description'>;
  /** The name of a choice of schemas. */
  'x-choice'?: Pick<Enumeration, 'name' | 'description'>;
  'x-upstream'?: string;
}
type Schemas = Record<string, Schema>;

export interface Parameter {
  readonly name: string;
  description?: string;
  example?: unknown;
  schema?: Schema;
  'x-enumeration'?: Schema['x-enumeration'];
  'x-upstream'?: string;
}

interface Described {
  readonly parameters?: Parameter[];
  readonly requestBody?: object;
}

export function finishSchemas(document: OpenAPIObject): void {
  const schemas = (document.components?.schemas ?? {}) as Schemas;
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path) as Described[]);
  const requests = closeRequestSchemas(schemas, operations);
  const named: Schemas = {};
  for (const schema of Object.values(schemas)) {
    for (const [name, field] of Object.entries(schema.properties ?? {})) {
      const isRequest = requests.has(schema);
      describeField(name, field);
      if (isRequest) tellDefault(field);
      if (schema.properties) schema.properties[name] = nullApart(withNames(field, !isRequest, named));
    }
  }
  for (const parameter of operations.flatMap(({ parameters = [] }) => parameters))
    finishParameter(parameter, named);
  Object.assign(schemas, named);
}

/** Closes the schemas of requests, and returns them: unknown fields are refused. */
function closeRequestSchemas(schemas: Schemas, operations: readonly Described[]): ReadonlySet<Schema> {
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
  for (const { requestBody = {} } of operations) visit(requestBody);
  return closed;
}

function describeField(name: string, field: { description?: string }): void {
  const description = field.description ?? fieldDescriptions[name];
  if (description !== undefined) field.description = description;
}

/** Describes a default in words. Generators make a field with `default` required, even if the caller may leave it out. */
function tellDefault(field: Schema): void {
  if (field.default === undefined) return;
  const value = typeof field.default === 'string' ? field.default : JSON.stringify(field.default);
  field.description = `${field.description}. By default \`${value}\``;
  delete field.default;
}

/**
 * Makes a separate schema of every choice of schemas and of every enumeration. A request refers to the schema of an enumeration. A response
 * refers to it too, and allows any other text in addition, because the platform may extend the enumeration. The known words are then
 * repeated in `x-extensible-enum`.
 */
function withNames(schema: Schema, isOpen: boolean, named: Schemas): Schema {
  if (schema.items) schema.items = withNames(schema.items, isOpen, named);
  const { 'x-choice': choice, ...chosen } = schema;
  if (choice) {
    named[choice.name] = { ...chosen, description: choice.description };
    return { $ref: `#/components/schemas/${choice.name}` };
  }
  const { 'x-enumeration': enumeration, enum: all = [], type, nullable, ...others } = schema;
  if (enumeration === undefined) return schema;
  const words = all.filter((word) => word !== null);
  named[enumeration.name] = { type: 'string', enum: words, description: enumeration.description };
  const $ref = `#/components/schemas/${enumeration.name}`;
  if (!isOpen) return { ...others, $ref };
  const isNullable =
    nullable === true || all.includes(null) || (Array.isArray(type) && type.includes('null'));
  const choices = [{ $ref }, { type: 'string' }, ...(isNullable ? [{ type: 'null' }] : [])];
  return { ...others, anyOf: choices, 'x-extensible-enum': words } as Schema;
}

/** Separates `null` from the other types, because generators fail on it in a list of numbers. */
function nullApart(schema: Schema): Schema {
  const { enum: all = [], type, ...others } = schema;
  if (!all.includes(null)) return schema;
  const [only = ''] = [type].flat().filter((each) => each !== 'null');
  return { ...others, anyOf: [{ type: only, enum: all.filter((each) => each !== null) }, { type: 'null' }] };
}

/** Moves the example and the description to the parameter, where tools look for them. The gateway's additions belong into its schema. */
function finishParameter(parameter: Parameter, named: Schemas): void {
  describeField(parameter.name, parameter);
  const { schema, 'x-enumeration': enumeration } = parameter;
  if (!schema) return;
  if (enumeration !== undefined) {
    schema['x-enumeration'] = enumeration;
    delete parameter['x-enumeration'];
  }
  if (parameter['x-upstream'] !== undefined) {
    schema['x-upstream'] = parameter['x-upstream'];
    delete parameter['x-upstream'];
  }
  if (parameter.example === undefined && schema.example !== undefined) parameter.example = schema.example;
  delete schema.example;
  parameter.schema = withNames(schema, false, named);
}
