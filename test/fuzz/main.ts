import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { runCases } from './cases.ts';
import { runRaw } from './raw.ts';
import { runSequences } from './sequences.ts';
import { Stage } from './stage.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(2 ** 31)) },
    cases: { type: 'string', default: '20000' },
    only: { type: 'string' },
    raw: { type: 'string', default: '5000' },
    sequences: { type: 'string', default: '2000' },
  },
});
const say = (line: string) => process.stdout.write(`${line}\n`);
say(`seed ${values.seed}`);
const stage = await Stage.set();
const t = performance.now();
try {
  const report = await runCases(stage, {
    seed: Number(values.seed),
    cases: Number(values.cases),
    only: values.only,
    progress: (n) => say(`${n} cases`),
  });
  for (const v of report.violations)
    say(`- ${v.operation}/${v.kind}: ${v.what.slice(0, 1200)}\n    ${v.example}`);
  say(
    `${report.cases} cases, ${report.violations.length} violations, ${JSON.stringify(report.valid)}, ${JSON.stringify([...report.statuses].sort())} ${((performance.now() - t) / 1000).toFixed(1)} s`,
  );
  const s = await runSequences(stage, {
    seed: Number(values.seed),
    sequences: Number(values.sequences),
    progress: (n) => say(`${n} sequences`),
  });
  for (const v of s.violations) say(`- ${v.what.slice(0, 1500)}\n    ${v.example}`);
  say(
    `${s.sequences} sequences ${JSON.stringify([...s.acted])} ${s.requests} requests ${((performance.now() - t) / 1000).toFixed(1)} s`,
  );
  const r = await runRaw(stage, { seed: Number(values.seed), connections: Number(values.raw) });
  for (const v of r.violations) say(`- ${v.what.slice(0, 1500)}\n    ${v.example}`);
  say(
    `${r.connections} connections ${JSON.stringify([...r.answers].sort())} ${((performance.now() - t) / 1000).toFixed(1)} s`,
  );
} finally {
  await stage.clear();
}
