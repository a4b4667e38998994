/** How the sandbox reads the interface where it is silent: a value for each reading, and what may be bought. */
import {
  faultOfReading,
  plainReadings,
  type ReadingName,
  readingNames,
  type Readings,
} from '../src/config/readings.ts';
import { type Check, CHECKS, checkObject } from './control/checks.ts';
import { isObject } from './json.ts';

export interface Profile extends Readings {
  /**
   * What may be bought: `catalogue`, the products of the seed and those that the state has; another one is refused with 13004. Or `any`
   * name. A platform has its own catalogue, so this is no reading.
   */
  readonly products: 'catalogue' | 'any';
}

export const PLAIN_PROFILE: Profile = { ...plainReadings, products: 'catalogue' };

const CHECK_OF: Readonly<Record<string, Check>> = {
  ...Object.fromEntries(
    readingNames.map((name: ReadingName) => [name, (value: unknown) => faultOfReading(name, value) ?? null]),
  ),
  products: CHECKS.word('catalogue', 'any'),
};
const FILE = { version: CHECKS.anything, readings: CHECKS.anything, notAsked: CHECKS.anything };

/** The values of a profile: as a file has it that `conformance` wrote, or the values alone. Throws `ControlError` with the first fault. */
export function checkedProfile(given: unknown, field: string): Partial<Profile> {
  const isFile = isObject(given) && 'readings' in given;
  if (isFile) checkObject(given, field, FILE);
  const values = isFile ? given['readings'] : given;
  checkObject(values, isFile ? `${field}.readings` : field, CHECK_OF);
  return values as Partial<Profile>;
}
