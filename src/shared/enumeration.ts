/** The words of an enumeration, with its name and description in the OpenAPI document. */
export interface Enumeration<Word extends string = string> {
  readonly name: string;
  readonly words: readonly Word[];
  readonly description: string;
}

export type WordOf<E extends Enumeration> = E['words'][number];

export function enumeration<const Word extends string>(
  name: string,
  words: readonly Word[],
  description: string,
): Enumeration<Word> {
  return { name, words, description };
}

/** Returns the part of a field's schema that describes its enumeration. The document makes a separate schema of it. */
export function enumerationSchema({ name, words, description }: Enumeration): {
  readonly enum: string[];
  readonly 'x-enumeration': Pick<Enumeration, 'name' | 'description'>;
} {
  return { enum: [...words], 'x-enumeration': { name, description } };
}
