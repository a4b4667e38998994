import { parse } from 'csv-parse';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CsvReader, type CsvRecord } from './csv-reader.ts';

/** Returns the records that this reader reads in a text that arrives in pieces of this many bytes. */
function recordsOf(text: string, pieceBytes: number): CsvRecord[] {
  const reader = new CsvReader(',');
  const bytes = Buffer.from(text);
  const records: CsvRecord[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    records.push(...reader.read(bytes.subarray(at, at + pieceBytes)));
  return [...records, ...reader.read()];
}

/** Returns the rows that csv-parse reads. Undefined if it gives up on the file. */
function peerOf(text: string): Promise<readonly string[][] | undefined> {
  const options = { bom: true, relax_column_count: true, skip_empty_lines: true };
  return new Promise((resolve) =>
    parse(text, { ...options, record_delimiter: ['\r\n', '\n', '\r'] }, (error, records) =>
      resolve(error ? undefined : records),
    ),
  );
}

const text = fc
  .array(fc.constantFrom('a', 'é', '"', '""', '","', ',', '\n', '\r\n', '\r', ' ', '\uFEFF'), {
    maxLength: 40,
  })
  .map((parts) => parts.join(''));

it('reads what csv-parse reads, however the file is cut into pieces', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 20 }), async (file, pieceBytes) => {
      const records = recordsOf(file, pieceBytes);
      const peer = await peerOf(file);
      // This reader continues after a row that is not CSV, and csv-parse does not.
      expect(records.some(({ fault }) => fault !== undefined)).toBe(peer === undefined);
      if (peer) expect(records.map(({ cells }) => cells)).toEqual(peer);
    }),
    { numRuns: 3_000 },
  );
});
