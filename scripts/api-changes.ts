/** Finds changes between two OpenAPI documents of this gateway that break callers: less is accepted, or less is answered, than before. */

type Json = Record<string, unknown>;
/** `in`: the data that callers send. `out`: the data that they get. */
type Direction = 'in' | 'out';

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
/** The upper limits of sent data. A smaller one refuses values that were accepted before. */
const UPPER = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems', 'maxProperties'];
const LOWER = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems', 'minProperties'];
const VARIANTS = ['oneOf', 'anyOf', 'allOf'];

/**
 * Returns each breaking change with its location, in the order of the document. The list is empty if every caller of `before` can go on
 * with `after`.
 */
export function breakingChanges(before: Json, after: Json): string[] {
  const found: string[] = [];
  const compared = new Set<string>();
  const say = (place: string, what: string): void => void found.push(`${place}: ${what}`);

  for (const [place, was] of operationsOf(before)) {
    const is = operationsOf(after).get(place);
    if (!is) say(place, 'is gone');
    else compareOperation(place, was, is);
  }
  return found;

  function compareOperation(place: string, was: Json, is: Json): void {
    const formerly = parametersOf(was);
    const now = parametersOf(is);
    for (const [name, parameter] of formerly) {
      const other = now.get(name);
      if (!other) say(place, `the parameter ${name} is gone`);
      else {
        if (other['required'] === true && parameter['required'] !== true)
          say(place, `the parameter ${name} is required now`);
        compareSchema(`${place} ${name}`, object(parameter['schema']), object(other['schema']), 'in');
      }
    }
    for (const [name, parameter] of now)
      if (!formerly.has(name) && parameter['required'] === true)
        say(place, `the new parameter ${name} is required`);
    compareContent(`${place} body`, object(was['requestBody']), object(is['requestBody']), 'in');
    if (object(is['requestBody'])['required'] === true && object(was['requestBody'])['required'] !== true)
      say(place, 'a body is required now');
    for (const [status, response] of Object.entries(object(was['responses']))) {
      const other = object(is['responses'])[status];
      if (other !== undefined)
        compareContent(
          `${place} ${status}`,
          resolved(before, object(response)),
          resolved(after, object(other)),
          'out',
        );
      else if (status.startsWith('2')) say(place, `the response ${status} is gone`);
    }
  }

  function compareContent(place: string, was: Json, is: Json, direction: Direction): void {
    for (const [type, content] of Object.entries(object(was['content']))) {
      const other = object(is['content'])[type];
      if (other === undefined) say(place, `${type} is gone`);
      else
        compareSchema(place, object(object(content)['schema']), object(object(other)['schema']), direction);
    }
  }

  function compareSchema(place: string, former: Json, present: Json, direction: Direction): void {
    const pair = JSON.stringify([former['$ref'], present['$ref'], direction]);
    if (former['$ref'] !== undefined && present['$ref'] !== undefined) {
      if (compared.has(pair)) return;
      compared.add(pair);
    }
    const was = resolved(before, former);
    const is = resolved(after, present);
    compareTypes(place, was, is, direction);
    compareValues(place, was, is, direction);
    if (direction === 'in') compareBounds(place, was, is);
    compareFields(place, was, is, direction);
    comparePart(`${place}[]`, was['items'], is['items'], direction);
    comparePart(`${place}.*`, was['additionalProperties'], is['additionalProperties'], direction);
    for (const of of VARIANTS) compareVariants(place, list(was[of]), list(is[of]), direction);
  }

  function comparePart(place: string, was: unknown, is: unknown, direction: Direction): void {
    if (isObject(was) && isObject(is)) compareSchema(place, was, is, direction);
  }

  function compareTypes(place: string, was: Json, is: Json, direction: Direction): void {
    const formerly = typesOf(was);
    const now = typesOf(is);
    if (formerly.length === 0 && now.length === 0) return;
    const [needed, allowed] = direction === 'in' ? [formerly, now] : [now, formerly];
    const missing = needed.filter(
      (type) => !allowed.includes(type) && !(type === 'integer' && allowed.includes('number')),
    );
    if (missing.length > 0 && allowed.length > 0)
      say(
        place,
        direction === 'in' ? `${missing.join()} is not accepted any more` : `may be ${missing.join()} now`,
      );
  }

  function compareValues(place: string, was: Json, is: Json, direction: Direction): void {
    const formerly = was['enum'];
    const now = is['enum'];
    if (direction === 'in' && Array.isArray(now)) {
      const gone = Array.isArray(formerly) ? formerly.filter((value) => !now.includes(value)) : undefined;
      if (gone === undefined) say(place, 'has only certain values now');
      else if (gone.length > 0) say(place, `${gone.join()} is not accepted any more`);
    }
    if (direction === 'out' && Array.isArray(formerly)) {
      const more = Array.isArray(now) ? now.filter((value) => !formerly.includes(value)) : ['any value'];
      if (more.length > 0) say(place, `may be ${more.join()} now`);
    }
  }

  function compareBounds(place: string, was: Json, is: Json): void {
    const number = (value: unknown, otherwise: number) => (typeof value === 'number' ? value : otherwise);
    for (const bound of UPPER)
      if (number(is[bound], Infinity) < number(was[bound], Infinity))
        say(place, `${bound} is ${String(is[bound])} now`);
    for (const bound of LOWER)
      if (number(is[bound], -Infinity) > number(was[bound], -Infinity))
        say(place, `${bound} is ${String(is[bound])} now`);
    if (is['pattern'] !== undefined && is['pattern'] !== was['pattern']) say(place, 'has another pattern');
  }

  function compareFields(place: string, was: Json, is: Json, direction: Direction): void {
    const formerly = object(was['properties']);
    const now = object(is['properties']);
    const required = (schema: Json) => new Set(list(schema['required']) as string[]);
    for (const [name, field] of Object.entries(formerly)) {
      if (!(name in now)) say(place, `the field ${name} is gone`);
      else compareSchema(`${place}.${name}`, object(field), object(now[name]), direction);
    }
    const [more, fewer] = direction === 'in' ? [required(is), required(was)] : [required(was), required(is)];
    for (const name of more)
      if (!fewer.has(name) && (direction === 'in' || name in now))
        say(
          place,
          direction === 'in' ? `the field ${name} is required now` : `the field ${name} may be left out now`,
        );
  }

  /** Compares variants in their order, because a variant has no name. */
  function compareVariants(
    place: string,
    was: readonly unknown[],
    is: readonly unknown[],
    direction: Direction,
  ): void {
    if (
      was.length > 0 &&
      is.length > 0 &&
      (direction === 'in' ? is.length < was.length : is.length > was.length)
    )
      say(place, `has ${is.length} forms in place of ${was.length}`);
    was.forEach((variant, index) => comparePart(`${place}#${index + 1}`, variant, is[index], direction));
  }
}

function operationsOf(document: Json): Map<string, Json> {
  const all = Object.entries(object(document['paths'])).flatMap(([path, item]) =>
    METHODS.filter((method) => method in object(item)).map(
      (method) => [`${method.toUpperCase()} ${path}`, object(object(item)[method])] as const,
    ),
  );
  return new Map(all);
}

function parametersOf(operation: Json): Map<string, Json> {
  return new Map(
    list(operation['parameters']).map((each) => [
      `${String(object(each)['in'])} ${String(object(each)['name'])}`,
      object(each),
    ]),
  );
}

function typesOf({ type }: Json): string[] {
  return type === undefined ? [] : ([type].flat() as string[]);
}

function resolved(document: Json, part: Json): Json {
  const { $ref, ...beside } = part;
  if (typeof $ref !== 'string') return part;
  const found = $ref
    .split('/')
    .slice(1)
    .reduce<unknown>((at, name) => object(at)[name.replaceAll('~1', '/')], document);
  return { ...resolved(document, object(found)), ...beside };
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const object = (value: unknown): Json => (isObject(value) ? value : {});
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
