/** Makes the copy of the OpenAPI document for generators that do not read 3.1. */
import { Converter } from '@apiture/openapi-down-convert';

type Part = Readonly<Record<string, unknown>>;
type Schemas = Readonly<Record<string, Part>>;
interface Reference {
  readonly $ref: string;
}
interface Discriminator {
  readonly propertyName: string;
  readonly mapping: Readonly<Record<string, string>>;
}

export interface FullDocument {
  readonly webhooks?: object;
  readonly components: { readonly schemas: Schemas };
}

/** Converts the document. OpenAPI 3.0 has no place for webhooks, so they become an extension, which some tools know. */
export function openApi30(document: FullDocument): object {
  const converted = new Converter(document, { allOfTransform: true }).convert() as FullDocument;
  const rest = withoutRest(converted, converted.components.schemas) as FullDocument;
  const schemas = withSubtypes(rest.components.schemas);
  return { ...rest, components: { ...rest.components, schemas }, 'x-webhooks': document.webhooks };
}

/**
 * Makes a choice with a discriminator the parent of its members (OpenAPI 3.0.3, Discriminator Object). Most generators make a class of a
 * `oneOf` that its members do not extend, so no program can use a member where the choice is required. The word of a member becomes one of
 * all words, because in Java a subclass cannot narrow it. The mapping of the discriminator still tells which word belongs to which member.
 */
function withSubtypes(schemas: Schemas): Schemas {
  const made: Record<string, Part> = { ...schemas };
  for (const [parent, { oneOf, discriminator, ...others }] of Object.entries(schemas)) {
    if (!discriminator) continue;
    const { propertyName, mapping } = discriminator as Discriminator;
    const words = Object.keys(mapping);
    const named = Object.entries(schemas).find(([, each]) => isSame(each['enum'], words));
    const type = named ? { $ref: `#/components/schemas/${named[0]}` } : { type: 'string', enum: words };
    const word = { [propertyName]: type };
    made[parent] = { ...others, type: 'object', properties: word, required: [propertyName], discriminator };
    for (const { $ref } of oneOf as readonly Reference[]) {
      const { description, ...own } = schemas[nameIn($ref)] ?? {};
      const properties = { ...(own['properties'] as Part), ...word };
      made[nameIn($ref)] = {
        description,
        allOf: [{ $ref: `#/components/schemas/${parent}` }, { ...own, properties }],
      };
    }
  }
  return made;
}

const isSame = (some: unknown, others: readonly string[]) =>
  Array.isArray(some) && some.length === others.length && others.every((each) => some.includes(each));

const nameIn = ($ref: string) => $ref.replace('#/components/schemas/', '');

/**
 * Replaces the parts of 3.1 that the converter keeps (the schema of an item in a text, and the type `null` as a choice), and choices of
 * which most generators of 3.0 make an empty class.
 */
function withoutRest(part: unknown, schemas: Schemas): unknown {
  if (Array.isArray(part)) return part.map((each) => withoutRest(each, schemas));
  if (typeof part !== 'object' || part === null) return part;
  const done: Part = Object.fromEntries(
    Object.entries(part)
      .filter(([key]) => key !== 'contentSchema')
      .map(([key, each]) => [key, withoutRest(each, schemas)]),
  );
  const { anyOf, oneOf, ...beside } = done;
  const choices = (anyOf ?? oneOf ?? []) as readonly Part[];
  // `withSubtypes` handles these choices.
  if (choices.length === 0 || done['discriminator']) return done;
  const others = choices.filter(({ type }) => type !== 'null').map(resolved);
  const [only] = others;
  const common = others.length === 1 && only ? only : commonOf(others);
  return { ...(others.length < choices.length ? nullable(common) : common), ...beside };

  /** Repeats the schema of a reference, because in 3.0 `nullable` counts only next to a type. */
  function resolved(schema: Part): Part {
    const { $ref } = schema;
    if (typeof $ref !== 'string') return schema;
    return withoutRest(schemas[nameIn($ref)], schemas) as Part;
  }
}

/**
 * Makes a schema nullable. An enumeration would need `null` among its values, on which generators fail. A schema without a type allows null
 * already.
 */
function nullable({ enum: values, ...schema }: Part): Part {
  if (!('type' in schema)) return schema;
  return { ...schema, nullable: true, ...(values !== undefined && { 'x-extensible-enum': values }) };
}

/** Returns one schema for several. Open enumerations and times become text, objects of several kinds any object, and digits stay text. */
function commonOf(choices: readonly Part[]): Part {
  const types = new Set(choices.map(({ type }) => type));
  const areOf = (...names: string[]) => types.size === names.length && names.every((name) => types.has(name));
  if (areOf('string')) return { type: 'string' };
  if (areOf('object')) return { type: 'object', additionalProperties: true };
  // An id may also be sent as an integer.
  if (areOf('string', 'integer')) return choices.find(({ type }) => type === 'string') ?? {};
  return {};
}
