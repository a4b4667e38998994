/** Codes that the profile of a platform may teach. The file imports nothing, because the sandbox uses it without any package. */

/** The meanings that a profile can teach for a code that the interface does not have. */
export const codeWords = ['refused', 'placed-before', 'busy', 'credentials'] as const;
export type CodeWord = (typeof codeWords)[number];
export const codeModules = ['order', 'member'] as const;
export type CodeModule = (typeof codeModules)[number];
/** The meaning of each code, by the module that answers with it. */
export type TaughtCodes = Readonly<Partial<Record<CodeModule, Readonly<Record<string, CodeWord>>>>>;

/** The codes of the interface. Their meaning is fixed, and no profile changes it. */
export const interfaceCodes = [
  ...['0', '500', '10003', '10004', '13004', '30002', '30003', '33003', '33006', '33007', '33008', '33009'],
  ...['33018', '40000', '40001', '40006', '40008', '40009', '40021', '40022', '50003', '60000', '60002'],
  ...['60005', '60009', '60013', '60017', '60023', '60024', '60025', '60026', '60027', '60028', '70001'],
  '80001',
] as const;

/** Returns why a code cannot be taught with this word; undefined where it can. The text follows the place of the code. */
export function faultOfCode(module: CodeModule, code: string, word: unknown): string | undefined {
  if (!/^[\x21-\x7e]{1,32}$/.test(code))
    return 'must have a name of 1 to 32 printable characters without blanks';
  if (interfaceCodes.some((known) => known === code))
    return 'is a code of the interface, whose meaning cannot be taught';
  const words = module === 'order' ? codeWords : codeWords.filter((each) => each !== 'placed-before');
  return words.some((each) => each === word) ? undefined : `must be one of ${words.join(', ')}`;
}
