import type { UpstreamConfig } from '../config/app-config.ts';
import type { KnownReadings } from '../config/platform-profile.ts';
import { plainReadings, type ReadingName, readingNames } from '../config/readings.ts';
import type { Findings } from './findings.ts';
import { triedFirst } from './questions.ts';

/** The values by which the gateway does something that it would not do while it does not know the reading. */
const PERMITTING: { readonly [Name in ReadingName]?: readonly KnownReadings[Name][] } = {
  firstPage: [0, 1],
  deletedMembers: ['left-out'],
  mobiles: ['shown'],
  memberEdit: ['keeps', 'clears'],
  packagesInDeletion: ['taken'],
  emptyLists: ['null'],
  assetList: ['all'],
  orderIds: ['purchases', 'later'],
};

/** Returns the forms of what the gateway sends. The platform is asked with them first, because else nothing shows what it does with them. */
export function formsInUse(inUse: KnownReadings): KnownReadings {
  return Object.fromEntries(triedFirst.map((name) => [name, inUse[name] ?? plainReadings[name]]));
}

/**
 * Compares the findings with the settings and the profile with which the gateway runs. Each difference by which it errs is a remark. `after`
 * has the readings of the new profile.
 */
export function compareWithUse(
  findings: Findings,
  inUse: KnownReadings,
  after: KnownReadings,
  { timestampUnit: unitInUse }: UpstreamConfig,
): void {
  const found = findings.readings;
  if (found.timestampUnit !== undefined && found.timestampUnit !== unitInUse)
    findings.remark(
      `Times are in ${found.timestampUnit}, and the gateway reads them in ${unitInUse}: set PLATFORM_PROFILE_FILE to the profile of this run.`,
      true,
    );
  const forms = formsInUse(inUse);
  for (const name of triedFirst) {
    const [needed, used] = [found[name], forms[name]];
    if (needed !== undefined && needed !== used)
      findings.remark(
        `The platform takes calls with \`${name}\` ${needed}, and refuses the gateway's with ${used}: set PLATFORM_PROFILE_FILE to the profile of this run.`,
        true,
      );
  }
  for (const name of readingNames) {
    const [right, used] = [after[name], inUse[name]];
    if (right !== used && permits(name, used, right))
      findings.remark(
        `The gateway's profile has \`${name}\` ${used}, and the platform ${right === undefined ? 'does otherwise' : `has ${right}`}: set PLATFORM_PROFILE_FILE to the profile of this run.`,
        true,
      );
  }
}

function permits(name: ReadingName, used: unknown, right: unknown): boolean {
  if (name === 'maxLocksPerCall') return Number(used) > Number(right);
  return PERMITTING[name]?.some((value) => value === used) === true;
}
