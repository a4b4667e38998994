import * as z from 'zod';
import { faultOfReading, type ReadingName, readingNames, type Readings } from './readings.ts';
import {
  type CodeModule,
  codeModules,
  type CodeWord,
  faultOfCode,
  type TaughtCodes,
} from './taught-codes.ts';
import { readSettingsFile } from './settings-file.ts';

/** The readings that are known; the others stay open. */
export type KnownReadings = Partial<Readings>;

/** The content of a profile: the readings and codes of one platform that are known. */
export interface KnownPlatform {
  readonly readings: KnownReadings;
  readonly codes: TaughtCodes;
}

export const NOTHING_KNOWN: KnownPlatform = { readings: {}, codes: {} };

/** The profile that this process uses. Its content is replaced when the file has changed. */
export class PlatformProfile {
  constructor(private known = NOTHING_KNOWN) {}

  /** The whole content: a new object each time the file was read. */
  get content(): KnownPlatform {
    return this.known;
  }

  of<Name extends ReadingName>(name: Name): KnownReadings[Name] {
    return this.known.readings[name];
  }

  /** The codes that the profile teaches: a new object each time the file was read. */
  get codes(): TaughtCodes {
    return this.known.codes;
  }

  /** Returns the meaning of a code that the interface does not have; undefined where the profile does not teach it. */
  taught(module: CodeModule, code: string): CodeWord | undefined {
    const codes = this.codes[module] ?? {};
    return Object.hasOwn(codes, code) ? codes[code] : undefined;
  }

  /** Returns a copy in which these readings replace the profile's own. */
  with(readings: KnownReadings): KnownPlatform {
    return { ...this.known, readings: { ...this.known.readings, ...readings } };
  }

  replace(known: KnownPlatform): void {
    this.known = known;
  }
}

const known = readingNames.join(', ');
const isName = (name: string): name is ReadingName => readingNames.includes(name as ReadingName);

const codesOf = (module: (typeof codeModules)[number]) =>
  z.record(z.string(), z.unknown()).superRefine((given, context) => {
    for (const [code, word] of Object.entries(given)) {
      const fault = faultOfCode(module, code, word);
      if (fault !== undefined) context.addIssue({ code: 'custom', path: [code], message: fault });
    }
  });

const schema = z.strictObject({
  version: z.literal(1, { error: 'must be 1' }),
  readings: z.record(z.string(), z.unknown()).superRefine((given, context) => {
    for (const [name, value] of Object.entries(given)) {
      const fault = isName(name) ? faultOfReading(name, value) : `is no reading; known: ${known}`;
      if (fault !== undefined) context.addIssue({ code: 'custom', path: [name], message: fault });
    }
  }),
  codes: z
    .strictObject({ order: codesOf('order').optional(), member: codesOf('member').optional() })
    .default({}),
  notAsked: z.array(z.string().refine(isName, { error: `must be a reading; known: ${known}` })).default([]),
});

/** Reads what `npm run conformance` has written. Throws {@link SettingsFileError} with every fault. */
export function readPlatformProfile(path: string): KnownPlatform {
  const { readings, codes } = readSettingsFile(path, schema);
  return { readings: readings as KnownReadings, codes: codes as TaughtCodes };
}

/** Returns the content of this file, for the start. Nothing is known by a file with faults: the code that follows it ends the start. */
export function profileAtStart(path: string | undefined): KnownPlatform {
  try {
    return path === undefined ? NOTHING_KNOWN : readPlatformProfile(path);
  } catch {
    return NOTHING_KNOWN;
  }
}
