import { z } from 'zod';
import { faultOfReading, type ReadingName, readingNames, type Readings } from './readings.ts';
import { readSettingsFile } from './settings-file.ts';

/** The answers that are known; the others stay open. */
export type KnownReadings = Partial<Readings>;

/** What is known of the platform. It is replaced while the process runs, when the file has changed. */
export class PlatformProfile {
  constructor(private known: KnownReadings = {}) {}

  /** Undefined while it is not known. */
  of<Name extends ReadingName>(name: Name): KnownReadings[Name] {
    return this.known[name];
  }

  replace(known: KnownReadings): void {
    this.known = known;
  }
}

const known = readingNames.join(', ');
const isName = (name: string): name is ReadingName => readingNames.includes(name as ReadingName);

const schema = z.strictObject({
  version: z.literal(1, { error: 'must be 1' }),
  readings: z.record(z.string(), z.unknown()).superRefine((given, context) => {
    for (const [name, value] of Object.entries(given)) {
      const fault = isName(name) ? faultOfReading(name, value) : `is no reading; known: ${known}`;
      if (fault !== undefined) context.addIssue({ code: 'custom', path: [name], message: fault });
    }
  }),
  notAsked: z.array(z.string().refine(isName, { error: `must be a reading; known: ${known}` })).default([]),
});

/** Reads what `npm run conformance` has written. Throws {@link SettingsFileError} with every fault. */
export function readPlatformProfile(path: string): KnownReadings {
  return readSettingsFile(path, schema).readings as KnownReadings;
}
