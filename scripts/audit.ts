/**
 * `npm run check:audit` asks the registry for high or critical vulnerabilities in the production dependencies. Some registries (often
 * mirrors) cannot tell. The script then says so, and fails only in CI with a network (AUDIT_NETWORK=expected; a fork's has none).
 */
import { spawnSync } from 'node:child_process';

interface Report {
  /** Present if the registry gave no result. */
  readonly message?: string;
  readonly vulnerabilities?: Readonly<
    Record<string, { readonly severity: string; readonly via: readonly unknown[] }>
  >;
}

const GRAVE = ['high', 'critical'];

const { stdout, status } = spawnSync(
  'npm',
  ['audit', '--json', '--omit=dev', '--audit-level=high', '--fetch-retries=0', '--fetch-timeout=20000'],
  { encoding: 'utf8', timeout: 120_000, maxBuffer: 64 * 1024 * 1024 },
);
const report = parsed(stdout);
if (report?.vulnerabilities === undefined) {
  const isExpected = process.env['CI'] === 'true' && process.env['AUDIT_NETWORK'] === 'expected';
  console.error(
    [
      '*'.repeat(72),
      `NOT AUDITED: the registry does not answer (${report?.message?.slice(0, 200) ?? 'nothing readable'}).`,
      'Whether a dependency has a known vulnerability was not looked up.',
      isExpected
        ? 'That is a failure here: AUDIT_NETWORK=expected.'
        : 'CI that can reach its registry sets AUDIT_NETWORK=expected, which makes this a failure.',
      '*'.repeat(72),
    ].join('\n'),
  );
  if (isExpected) process.exitCode = 1;
} else {
  const grave = Object.entries(report.vulnerabilities).filter(([, { severity }]) => GRAVE.includes(severity));
  for (const [name, { severity, via }] of grave) {
    const titles = via.map((each) =>
      typeof each === 'string' ? `via ${each}` : (each as { title: string }).title,
    );
    console.error(`${severity}: ${name}: ${titles.join('; ')}`);
  }
  if (grave.length > 0 || status !== 0) process.exitCode = 1;
  else console.log('no vulnerability of a runtime dependency is known that is high or critical');
}

function parsed(text: string): Report | undefined {
  try {
    return JSON.parse(text) as Report;
  } catch {
    return undefined;
  }
}
