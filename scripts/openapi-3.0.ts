/** The copy of the OpenAPI document for generators that do not read 3.1. */
import { Converter } from '@apiture/openapi-down-convert';

type Part = Readonly<Record<string, unknown>>;

export interface FullDocument {
  readonly webhooks?: object;
  readonly components: { readonly schemas: Readonly<Record<string, Part>> };
}

/** 3.0 has no place for webhooks: they are an extension, which some tools know. */
export function openApi30(document: FullDocument): object {
  const converted = new Converter(document, { allOfTransform: true }).convert() as FullDocument;
  const rest = withoutRest(converted, converted.components.schemas) as Part;
  return { ...rest, 'x-webhooks': document.webhooks };
}

/** Replaces what the converter leaves of 3.1: the schema of an item in a text, and the type `null` as a choice. */
function withoutRest(part: unknown, schemas: FullDocument['components']['schemas']): unknown {
  if (Array.isArray(part)) return part.map((each) => withoutRest(each, schemas));
  if (typeof part !== 'object' || part === null) return part;
  const done = Object.fromEntries(
    Object.entries(part)
      .filter(([key]) => key !== 'contentSchema')
      .map(([key, each]) => [key, withoutRest(each, schemas)]),
  );
  const key = 'anyOf' in done ? 'anyOf' : 'oneOf';
  const choices = (done[key] ?? []) as readonly Part[];
  const others = choices.filter(({ type }) => type !== 'null');
  if (others.length === choices.length) return done;
  const { [key]: _, ...beside } = done;
  const [only] = others;
  return { ...nullable(others.length === 1 && only ? only : { [key]: others }), ...beside };

  /** In 3.0 `nullable` counts only beside a type, so the schema of a reference is repeated. */
  function nullable(schema: Part): Part {
    if (typeof schema['$ref'] === 'string') {
      const name = schema['$ref'].replace('#/components/schemas/', '');
      return nullable(withoutRest(schemas[name], schemas) as Part);
    }
    if (schema['type']) return { ...schema, nullable: true };
    const of = schema['anyOf'] ? 'anyOf' : 'oneOf';
    const inside = schema[of] as readonly Part[];
    const typed = inside.find((each) => each['type']);
    return { ...schema, [of]: inside.map((each) => (each === typed ? nullable(each) : each)) };
  }
}
