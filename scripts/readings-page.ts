/** Makes docs/readings.md, from the table of the readings (src/config/readings.ts). */
import { readings } from '../src/config/readings.ts';

/** The parts of the page, by how `conformance` asks. */
const PARTS = [
  ['reads', 'Asked by every run'],
  ['write', 'Asked with `--write`'],
  ['order', 'Asked with `--write --order`'],
  ['never', 'Never asked'],
] as const;

function valuesOf(values: (typeof readings)[keyof typeof readings]['values']): string {
  if (!('usual' in values)) return values.map((value) => `\`${value}\``).join(', ');
  const [least, most, usual] = [values.least, values.most, values.usual].map((each) =>
    each.toLocaleString('en'),
  );
  return `${least} to ${most} (sandbox: \`${usual}\`)`;
}

export function readingsPage(): string {
  const parts = PARTS.map(([how, heading]) => {
    const sections = Object.entries(readings)
      .filter(([, { asked }]) => asked === how)
      .map(
        ([name, { question, values, gateway }]) =>
          `### \`${name}\`\n\n${question} ${valuesOf(values)}.\n${/^reads both\b/.test(gateway) ? '' : `The gateway ${gateway}.\n`}`,
      );
    const why =
      how === 'never'
        ? 'Each way to ask could do harm, so an operator writes the value into the profile.\n\n'
        : '';
    return `## ${heading}\n\n${why}${sections.join('\n')}`;
  });
  return `# Readings of the interface

Where the interface of the platform is silent ([platform.md](platform.md)), a platform has one of these values.
\`npm run conformance\` asks a platform and writes the values into a profile. The gateway reads it from
\`PLATFORM_PROFILE_FILE\`, and the sandbox from \`SANDBOX_PROFILE\`:

\`\`\`json
{ "version": 1, "readings": { "maxPageSize": 50, "largerPages": "cut", "memberEdit": "keeps" }, "notAsked": [] }
\`\`\`

The values follow each question. If the profile leaves out a reading, the gateway takes the cautious side, and
the sandbox the first value. Where nothing is said of the gateway, it reads all values.

${parts.join('\n')}
## Codes

A platform may refuse calls by codes that its interface does not have. Teach the profile what a code of a module
means. It counts within seconds:

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
| \`placed-before\` | it has an order of this number | not known (only in \`order\`) | \`in_doubt\`: searched for, never sent again |

- A code that nobody has taught leaves a write in doubt. The console (_Gaps_) shows it with the words of the
  platform, \`GET /v1/gaps\` without them, and the problem has it in \`upstream.code\`.
- Once the profile teaches the code, the orders that are in doubt because of it are settled, unless a search has
  found something of the order.
- \`placed-before\` does not say whose order it is: another program may have used the number. A search settles the
  order only by licence orders that are as new as the order.
- From the token endpoint, \`credentials\` in either module means the secret of the application, or the name and password
  of the user.
- \`npm run conformance\` keeps the codes of a profile, and lists those that nobody has taught.
`;
}
