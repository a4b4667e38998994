/** Words that stand for a choice, under the name that the OpenAPI document gives them. */
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
