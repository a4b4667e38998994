import { styleText } from 'node:util';
import { plainReadings, type ReadingName, readings } from '../config/readings.ts';
import type { Findings } from './findings.ts';

/** 0: as the interface says. 1: otherwise, and the gateway lives with it. 2: something would be wrong with today's settings. */
export function exitCodeOf({ differing, gaps, remarks, left }: Findings): 0 | 1 | 2 {
  if (remarks.some(({ isWrong }) => isWrong)) return 2;
  return differing.length + gaps.length + remarks.length + left.length > 0 ? 1 : 0;
}

/** `lifetimes`: for how many seconds a new token is used, by its name. */
export function jsonReport(findings: Findings, lifetimes: ReadonlyMap<string, number>): string {
  const { readings: known, notAsked, differing, gaps, remarks, left } = findings;
  return JSON.stringify(
    {
      version: 1,
      readings: known,
      notAsked,
      tokens: Object.fromEntries(lifetimes),
      differing,
      gaps,
      remarks,
      left,
      exitCode: exitCodeOf(findings),
    },
    null,
    2,
  );
}

/** A table for people. */
export function textReport(
  findings: Findings,
  lifetimes: ReadonlyMap<string, number>,
  isTerminal: boolean,
): string {
  const { readings: known, differing, gaps, remarks, left, notAsked } = findings;
  const style = (format: 'green' | 'yellow' | 'red', text: string) =>
    isTerminal ? styleText(format, text) : text;
  const rows = (Object.keys(known) as ReadingName[]).map((name) => {
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
    ['Departures from the interface (operation, field, kind)', gaps.map((gap) => `  ${gap}`)],
    ['Remarks', remarks.map(({ what, isWrong }) => (isWrong ? style('red', `  ! ${what}`) : `  ${what}`))],
    ['Could not be removed', left.map((each) => style('red', `  ! ${each}`))],
    ['Not asked', notAskedBy(notAsked)],
  ];
  const verdict = {
    0: style('green', 'As the interface says.'),
    1: style('yellow', 'Otherwise than the interface says, and the gateway can live with it.'),
    2: style('red', "Something would be wrong with today's settings: see the remarks with !."),
  }[exitCodeOf(findings)];
  const blocks = parts
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => [title, ...lines].filter((line) => line !== '').join('\n'));
  return `${[...blocks, verdict].join('\n\n')}\n`;
}

const HOW = {
  reads: 'this platform shows nothing of it, or nothing beyond what the gateway asks for',
  write: 'with --write',
  order: 'with --write --order',
  never: 'not without harm: write what you know into the profile',
} as const;

function notAskedBy(notAsked: readonly ReadingName[]): string[] {
  const byHow = Map.groupBy(notAsked, (name) => HOW[readings[name].asked]);
  return [...byHow].map(([how, names]) => `  ${names.join(', ')}: ${how}`);
}
