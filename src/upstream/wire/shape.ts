/** An object of a response, as the interface has it: the names of its fields, and which of them may be null or absent. */
export interface Shape<Name extends string> {
  readonly fields: ReadonlySet<Name>;
  readonly nullable: ReadonlySet<string>;
}
export type FieldOf<S> = S extends Shape<infer Name> ? Name : never;

export function responseShape<const Name extends string, const Nullable extends string = never>(
  required: readonly Name[],
  nullable: readonly Nullable[] = [],
): Shape<Name | Nullable> {
  const fields = new Set([...required, ...nullable]);
  // This lets a reader skip the test whether a field is the object's own.
  for (const name of fields) if (name in Object.prototype) throw new Error(`every object has ${name}`);
  return { fields, nullable: new Set(nullable) };
}
