/** The profile: a value for each reading of the interface where it is silent, and the products that may be bought. */
import {
  faultOfReading,
  plainReadings,
  type ReadingName,
  readingNames,
  type Readings,
} from '../src/config/readings.ts';
import { type CodeWord, codeModules, faultOfCode, type TaughtCodes } from '../src/config/taught-codes.ts';
import { type Check, CHECKS, checkObject, ControlError, unknownField } from './control/checks.ts';
import { isObject } from './json.ts';

export interface Profile extends Readings {
  /**
   * The products that may be bought. `catalogue` allows the products of the seed and of the state, and refuses any other one with 13004.
   * `any` allows every name. A platform has its own catalogue, so this is no reading.
   */
  readonly products: 'catalogue' | 'any';
  /**
   * The codes of this platform that its interface does not have. If a reading makes the sandbox refuse by such a code, it uses one of
   * these.
   */
  readonly codes: TaughtCodes;
}

export const PLAIN_PROFILE: Profile = { ...plainReadings, products: 'catalogue', codes: {} };

/** Returns the code of the order module for that meaning, or the given one if the profile has none. */
export function ownCode({ codes }: Profile, word: CodeWord, otherwise: string): string {
  return Object.entries(codes.order ?? {}).find(([, means]) => means === word)?.[0] ?? otherwise;
}

const codesCheck: Check = (value, field) => {
  if (!isObject(value)) return 'must be an object';
  for (const [module, codes] of Object.entries(value)) {
    const known = codeModules.find((each) => each === module);
    if (!known) throw unknownField(`${field}.${module}`, codeModules);
    if (!isObject(codes)) throw new ControlError(`${field}.${module}`, 'must be an object');
    for (const [code, word] of Object.entries(codes)) {
      const fault = faultOfCode(known, code, word);
      if (fault !== undefined) throw new ControlError(`${field}.${module}.${code}`, fault);
    }
  }
  return null;
};

const CHECK_OF: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    readingNames.map((name: ReadingName) => [name, (value: unknown) => faultOfReading(name, value) ?? null]),
  ),
  products: CHECKS.word('catalogue', 'any'),
  codes: codesCheck,
};
const FILE = {
  version: CHECKS.anything,
  readings: CHECKS.anything,
  codes: codesCheck,
  notAsked: CHECKS.anything,
};

/** Checks the values of a profile: a file that `conformance` wrote, or the values alone. Throws `ControlError` with the first fault. */
export function checkedProfile(given: unknown, field: string): Partial<Profile> {
  const isFile = isObject(given) && 'readings' in given;
  if (isFile) checkObject(given, field, FILE);
  const values = isFile ? given['readings'] : given;
  checkObject(values, isFile ? `${field}.readings` : field, CHECK_OF);
  const codes = isFile && 'codes' in given ? { codes: given['codes'] } : {};
  return { ...(values as Partial<Profile>), ...(codes as Partial<Profile>) };
}
