import { styleText } from 'node:util';
import { plainReadings, type ReadingName, readingNames, readings } from '../config/readings.ts';
import type { Findings } from './findings.ts';

/**
 * The exit code. 0: the platform conforms to the interface. 1: it departs from it, and the gateway tolerates that. 2: something would be
 * wrong with today's settings. 3: nothing could be read of the order module or of the member center.
 */
export function exitCodeOf(findings: Findings): 0 | 1 | 2 | 3 {
  const { differing, gaps, remarks, left, refused, codes, unread } = findings;
  if (unread.length > 0) return 3;
  if (refused.length > 0 || remarks.some(({ isWrong }) => isWrong)) return 2;
  return differing.length + gaps.length + remarks.length + left.length + codes.length > 0 ? 1 : 0;
}

/** Makes the report in JSON. `lifetimes` has the seconds for which a new token is used, by its name. */
export function jsonReport(findings: Findings, lifetimes: ReadonlyMap<string, number>): string {
  const report = {
    version: 1,
    readings: findings.readings,
    notAsked: findings.notAsked,
    tokens: Object.fromEntries(lifetimes),
    differing: findings.differing,
    refused: findings.refused,
    codes: findings.codes,
    gaps: findings.gaps,
    remarks: findings.remarks,
    notSeen: findings.notSeen,
    left: findings.left,
    unread: findings.unread,
    exitCode: exitCodeOf(findings),
  };
  return JSON.stringify(report, null, 2);
}

export function textReport(
  findings: Findings,
  lifetimes: ReadonlyMap<string, number>,
  isTerminal: boolean,
): string {
  const { readings: known, differing, refused, codes, gaps, remarks, notSeen, left, notAsked } = findings;
  const style = (format: 'green' | 'yellow' | 'red', text: string) =>
    isTerminal ? styleText(format, text) : text;
  const rows = readingNames
    .filter((name) => known[name] !== undefined)
    .map((name) => {
      const differs = differing.includes(name);
      const cells = [
        differs ? '!' : ' ',
        name.padEnd(20),
        String(known[name]).padEnd(10),
        readings[name].question,
      ];
      const line = cells.join(' ');
      return differs ? style('yellow', line) : line;
    });
  const explained = differing.map(
    (name) => `  ${name}: usually ${plainReadings[name]}. The gateway ${readings[name].gateway}.`,
  );
  const parts: [string, readonly string[]][] = [
    ['', rows],
    ['Tokens', [...lifetimes].map(([name, seconds]) => `  ${name} is used for ${seconds} s`)],
    ['Otherwise than the interface suggests', explained],
    [
      'Could not be read (operation, code, words of the platform)',
      refused.map(({ operation, code, words }) => style('red', `  ! ${joined(operation, code, words)}`)),
    ],
    [
      'Codes that the interface does not have (module, code, words of the platform): ask the vendor what they mean',
      codes.map(({ module, code, words }) => `  ${joined(module, code, words)}`),
    ],
    ['Departures from the interface (operation, field, kind)', gaps.map((gap) => `  ${gap}`)],
    ['Remarks', remarks.map(({ what, isWrong }) => (isWrong ? style('red', `  ! ${what}`) : `  ${what}`))],
    ['Could not be removed', left.map((each) => style('red', `  ! ${each}`))],
    ['Not seen', notSeen.map((each) => `  ${each}`)],
    ['Not asked', notAskedBy(notAsked)],
  ];
  const verdict = {
    0: style(
      'green',
      notSeen.length === 0 ? 'As the interface says.' : 'As the interface says, as far as it was seen.',
    ),
    1: style('yellow', 'Otherwise than the interface says, and the gateway can live with it.'),
    2: style('red', "Something would be wrong with today's settings: see the lines with !."),
    3: style('red', 'The platform could not be asked as a whole.'),
  }[exitCodeOf(findings)];
  const blocks = parts
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => [title, ...lines].filter((each) => each !== '').join('\n'));
  return `${[...blocks, verdict].join('\n\n')}\n`;
}

function joined(name: string, code: string | null, words: string): string {
  return [name, code, words].filter((part) => part !== null && part !== '').join(' ');
}

const HOW = {
  reads: 'no answer of this platform shows it, or it is beyond what the gateway asks for',
  write: 'with --write',
  order: 'with --write --order',
  never: 'not without harm: write what you know into the profile',
} as const;

function notAskedBy(notAsked: readonly ReadingName[]): string[] {
  const byHow = Map.groupBy(notAsked, (name) => HOW[readings[name].asked]);
  return [...byHow].map(([how, names]) => `  ${names.join(', ')}: ${how}`);
}
