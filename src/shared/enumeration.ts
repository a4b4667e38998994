/** The words of an enumeration, with its name in the OpenAPI document. */
export interface Enumeration<Word extends string = string> {
  readonly name: string;
  readonly words: readonly Word[];
}

export type WordOf<E extends Enumeration> = E['words'][number];

export function enumeration<const Word extends string>(
  name: string,
  words: readonly Word[],
): Enumeration<Word> {
  return { name, words };
}
