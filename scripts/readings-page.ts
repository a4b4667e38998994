/** docs/readings.md, from the table of the readings (src/config/readings.ts). */
import { format } from 'oxfmt';
import { readings } from '../src/config/readings.ts';

const ASKED = {
  reads: 'asked by reading',
  write: 'asked with `--write`',
  order: 'asked with `--write --order`',
  never: 'never asked, because no question is without harm: an operator writes it into the profile',
};

const MARKS = ['<!-- readings -->', '<!-- end of readings -->'] as const;

/** The page with the table of the readings between its marks. */
export async function withReadings(page: string): Promise<string> {
  const [begin, end] = MARKS.map((mark) => page.indexOf(mark));
  if (begin === undefined || end === undefined || begin < 0 || end < begin)
    throw new Error('no marks for the readings');
  const rows = Object.entries(readings).map(
    ([name, { question, values }]) => `| \`${name}\` | ${valuesOf(values)} | ${question} |`,
  );
  const table = [
    '| reading | values, the first by default | question |',
    '| --- | --- | --- |',
    ...rows,
  ].join('\n');
  const { code } = await format('readings.md', table);
  return `${page.slice(0, begin + MARKS[0].length)}\n\n${code}\n${page.slice(end)}`;
}

function valuesOf(values: (typeof readings)[keyof typeof readings]['values']): string {
  if (!('usual' in values)) return values.map((value) => `\`${value}\``).join(', ');
  const [least, most, usual] = [values.least, values.most, values.usual].map((each) =>
    each.toLocaleString('en'),
  );
  return `a whole number from ${least} to ${most}, \`${usual}\` in the sandbox`;
}

export function readingsPage(): string {
  const sections = Object.entries(readings).map(
    ([name, { question, values, gateway, asked }]) => `## \`${name}\`

${question} Values: ${valuesOf(values)}.

- The gateway ${gateway}.
- It is ${ASKED[asked]}.
`,
  );
  return `# Readings of the interface

Where the platform's interface is silent ([platform.md](platform.md)), a platform has one of these values. The first one is what the sandbox does
unless it is told otherwise. \`npm run conformance\` asks a platform and writes what it found into a profile, which the gateway takes by
\`PLATFORM_PROFILE_FILE\` and the sandbox by \`SANDBOX_PROFILE\`:

\`\`\`json
{ "version": 1, "readings": { "maxPageSize": 50, "largerPages": "cut", "memberEdit": "keeps" }, "notAsked": [] }
\`\`\`

A reading that the profile leaves out is not known, and the gateway takes the cautious side. Made from the code by \`npm run generate\`.

${sections.join('\n')}`;
}
