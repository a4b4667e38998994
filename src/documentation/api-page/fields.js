/** The fields of a schema and of everything in it, in one list. */
import { resolve } from './prepare.js';

/**
 * Returns each field once: `path` from the outermost object (`items[].orderType`), `type`, `required`, `description`, and `only`. If only
 * some values of the discriminator allow the field, `only` has them.
 */
export function fieldsOf(api, schema) {
  const rows = new Map();
  collect(schema, { prefix: '', within: [], variant: undefined });
  return [...rows.values()].map(({ variants, all, ...row }) => ({
    ...row,
    only: variants.size < all ? [...variants] : [],
  }));

  function collect(part, at) {
    const { $ref } = part;
    if (at.within.includes($ref)) return;
    const known = resolve(api, part);
    const inside = $ref === undefined ? at : { ...at, within: [...at.within, $ref] };
    for (const [index, choice] of (known.oneOf ?? []).entries())
      collect(choice, { ...inside, variant: variantOf(known, index) ?? at.variant });
    for (const choice of [...(known.anyOf ?? []), ...(known.allOf ?? [])]) collect(choice, inside);
    if (known.items) collect(known.items, { ...inside, prefix: `${at.prefix.replace(/\.$/, '')}[].` });
    for (const [name, property] of Object.entries(known.properties ?? {})) {
      const path = at.prefix + name;
      const row = rows.get(path) ?? {
        path,
        type: typeOf(api, property),
        required: known.required?.includes(name) ?? false,
        description: property.description ?? resolve(api, property).description ?? '',
        variants: new Set(),
        all: inside.variant?.of ?? 0,
      };
      if (inside.variant) row.variants.add(inside.variant.value);
      rows.set(path, row);
      collect(property, { ...inside, prefix: `${path}.` });
    }
  }
}

/** Returns the value of the discriminator that leads to one of the choices. */
function variantOf({ oneOf, discriminator }, index) {
  const values = Object.entries(discriminator?.mapping ?? {});
  const [value] = values.find(([, target]) => target === oneOf[index].$ref) ?? [];
  return value && { value, of: values.length };
}

function typeOf(api, part) {
  const known = resolve(api, part);
  const choice = [...(known.anyOf ?? known.oneOf ?? known.allOf ?? [])].find(({ type }) => type !== 'null');
  if (choice && known.type === undefined) return typeOf(api, choice);
  if (known.enum) return known.enum.filter((value) => value !== null).join(' | ');
  const type = [known.type ?? []].flat().find((each) => each !== 'null') ?? 'any';
  if (type === 'array') return `list${extent(known.minItems, known.maxItems)} of ${typeOf(api, known.items)}`;
  const format = ['date-time', 'int64', 'uri'].includes(known.format) ? ` ${known.format}` : '';
  return type + format + extent(known.minLength ?? known.minimum, known.maxLength ?? known.maximum);
}

function extent(least, most) {
  if (most === undefined) return least > 0 ? `, ${least} or more` : '';
  return least === undefined ? `, ${most} at most` : `, ${least} to ${most}`;
}
