/**
 * `npm run check:audit`: whether the registry knows of vulnerabilities, high or critical, in what runs in production. Not every
 * registry answers that (mirrors often do not): then it says so and passes, for a build must not depend on it.
 */
import { spawnSync } from 'node:child_process';

interface Report {
  /** Where the registry did not answer. */
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
  console.log(
    `NOT AUDITED: the registry does not answer (${report?.message?.slice(0, 200) ?? 'nothing readable'})`,
  );
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
