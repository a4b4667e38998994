/** Makes docs/readings.md, from the table of the readings (src/config/readings.ts). */
import { format } from 'oxfmt';
import { readings } from '../src/config/readings.ts';

const ASKED = {
  reads: 'asked by reading',
  write: 'asked with `--write`',
  order: 'asked with `--write --order`',
  never: 'never asked, because no question is without harm: an operator writes it into the profile',
};

const MARKS = ['<!-- readings -->', '<!-- end of readings -->'] as const;

/** Returns the page with the table of the readings between its marks. */
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

${sections.join('\n')}
## Codes

A platform may refuse calls by codes that its interface does not have. The profile teaches what they mean, for each module:

\`\`\`json
{
  "version": 1,
  "readings": {},
  "codes": { "order": { "13017": "refused", "13021": "placed-before", "42900": "busy" }, "member": { "60006": "credentials" } }
}
\`\`\`

| word | the platform says | a read or another write | an order |
| --- | --- | --- | --- |
| \`refused\` | it did nothing, because of the request | 422 \`upstream-rejected\` | \`rejected\`: a corrected body may use the number |
| \`busy\` | it did nothing, and the same call may succeed later | 503 \`upstream-unavailable\`, retryable | \`not_sent\`: the number is free |
| \`credentials\` | it did nothing, because of a token | once more with new tokens; then 502 | the same; then \`not_sent\` |
| \`placed-before\` | it has an order of this number | not known (only in \`order\`) | \`in_doubt\`: the gateway searches for it, and sends nothing again |

- The problem has the platform's code in \`upstreamCode\`. The words of the platform reach operators only.
- \`placed-before\` does not say whose order it is: another program may have placed another order under the number, or a server between the gateway and the platform
  may have sent this order twice. A search settles the order only if it finds licence orders that are as new as the order. Otherwise an operator settles it.
- A code of the interface cannot be taught. A profile with such a code, or with an unknown word, is refused with its place, and the last profile stays in use.
- A code that nobody has taught leaves a write in doubt. It stands in the console (_Gaps_) with the words of the platform, and in \`GET /v1/gaps\` without them.
- Orders that are in doubt by such a code are settled within seconds after the profile teaches it, except where a search has found something of the order.
- The token endpoint may refuse by such a code too. \`credentials\`, in either module, then means the application's secret, or the user's name and password.
- \`npm run conformance\` keeps the codes of a profile and lists those that nobody has taught. A person has to find out what a code means.
`;
}
