import 'reflect-metadata';
import { accessSync, constants, existsSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { loadConfig, secretsOf } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { type KnownReadings, readPlatformProfile } from '../config/platform-profile.ts';
import { readingNames } from '../config/readings.ts';
import { SettingsFileError } from '../config/settings-file.ts';
import { createLog } from '../observability/log.ts';
import { Redactor } from '../observability/redactor.ts';
import { readUsersFile } from '../upstream/alias-users.ts';
import { isPathId, PATH_ID_RULE } from '../upstream/operations.ts';
import { Findings } from './findings.ts';
import { CannotAsk, Platform } from './platform.ts';
import { askByReading, type Asked } from './questions.ts';
import { exitCodeOf, jsonReport, textReport } from './report.ts';
import { askByWriting, hasMembersOfItsOwn } from './writes.ts';

/**
 * `npm run conformance`: asks the platform, with the gateway's own environment, how it behaves where its interface is silent
 * (docs/readings.md), and writes a profile. It is part of the build, so that the image has it too (`node dist/bundle/conformance.js`).
 */

const USAGE =
  'usage: npm run conformance -- --enterprise <id> [--channel <code>] [--write [--yes]] [--order] [--profile <file>] [--json]';

interface Options {
  readonly enterprise: string;
  readonly channel: string | undefined;
  readonly write: boolean;
  readonly order: boolean;
  readonly yes: boolean;
  readonly profile: string;
  readonly json: boolean;
}

function optionsOf(argv: string[]): Options {
  const flag = { type: 'boolean', default: false } as const;
  const text = { type: 'string' } as const;
  let given;
  try {
    const options = {
      enterprise: text,
      channel: text,
      profile: text,
      write: flag,
      order: flag,
      yes: flag,
      json: flag,
    };
    given = parseArgs({ args: argv, options }).values;
  } catch (error) {
    throw new CannotAsk(`${(error as Error).message}\n${USAGE}`);
  }
  const { enterprise, channel, write, order, yes, json, profile = 'platform-profile.json' } = given;
  if (enterprise === undefined)
    throw new CannotAsk(`--enterprise is required: the global id of an enterprise.\n${USAGE}`);
  if (!isPathId(enterprise)) throw new CannotAsk(`--enterprise ${PATH_ID_RULE}.`);
  if (order && !write)
    throw new CannotAsk('--order needs --write: it places an order, and removes it again.');
  return { enterprise, channel, write, order, yes, json, profile };
}

async function main(argv: string[], redactor: Redactor): Promise<number> {
  const options = optionsOf(argv);
  const { upstream, users, ...config } = loadConfig(process.env);
  redactor.add(...secretsOf({ upstream, users, ...config }));
  const user = users.file === undefined ? undefined : readUsersFile(users.file).get('default');
  if (user) redactor.add([user.password.reveal()]);
  const before = profileBefore(options.profile);
  const platform = new Platform(upstream, user, createLog('silent'));
  const findings = new Findings();
  const { enterprise: enterpriseGlobalId, channel: channelCode } = options;
  const asked: Asked = { platform, findings, config: upstream, enterpriseGlobalId, channelCode };
  const over = new AbortController();
  // What was made is removed before the process ends.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => over.abort());
  try {
    await askByReading(asked);
    if (options.write && !over.signal.aborted) {
      await assertMeant(asked, options.yes);
      await askByWriting(asked, options.order, over.signal);
    }
  } catch (error) {
    const { message } = error as Error;
    throw error instanceof CannotAsk || findings.left.length > 0
      ? new CannotAsk(message + leftOf(findings), { cause: error })
      : error;
  } finally {
    await platform.close();
  }
  const { timestampUnit } = findings.readings;
  if (timestampUnit !== undefined && timestampUnit !== upstream.timestampUnit)
    findings.remark(
      `Times are in ${timestampUnit}, and the gateway reads them in ${upstream.timestampUnit}: set UPSTREAM_TIMESTAMP_UNIT=${timestampUnit}, or PLATFORM_PROFILE_FILE.`,
      true,
    );
  if (over.signal.aborted) throw new CannotAsk(`Interrupted: no profile was written.${leftOf(findings)}`);
  const report = options.json
    ? `${jsonReport(findings, platform.lifetimes)}\n`
    : textReport(findings, platform.lifetimes, process.stdout.isTTY);
  process.stdout.write(redactor.redact(report));
  const known = { ...before, ...findings.readings };
  const profile = {
    version: 1,
    readings: known,
    notAsked: readingNames.filter((name) => known[name] === undefined),
  };
  writeFileSync(`${options.profile}.new`, `${JSON.stringify(profile, null, 2)}\n`);
  renameSync(`${options.profile}.new`, options.profile);
  if (!options.json) process.stdout.write(`\nProfile: ${options.profile}\n`);
  return exitCodeOf(findings);
}

/** What is known already stays known where this run does not ask it. Fails before anything is asked where the file cannot be written. */
function profileBefore(path: string): KnownReadings {
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch {
    throw new CannotAsk(`--profile: no file can be written into the folder of ${path}.`);
  }
  return existsSync(path) ? readPlatformProfile(path) : {};
}

function leftOf({ left }: Findings): string {
  return left.length > 0 ? ` Could not be removed: ${left.join('; ')}.` : '';
}

/** An enterprise with members of its own may be in use. */
async function assertMeant(asked: Asked, isConfirmed: boolean): Promise<void> {
  if (isConfirmed || !(await hasMembersOfItsOwn(asked))) return;
  const what = `The enterprise ${asked.enterpriseGlobalId} has members that this command has not made`;
  if (!process.stdin.isTTY) throw new CannotAsk(`${what}: give --yes if it is meant for this.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await terminal.question(`${what}. Type "yes" to write there: `);
  terminal.close();
  if (typed.trim() !== 'yes') throw new CannotAsk('Nothing was written.');
}

const redactor = new Redactor();
try {
  process.exitCode = await main(process.argv.slice(2), redactor);
} catch (error) {
  const isKnown = [CannotAsk, ConfigError, SettingsFileError].some((type) => error instanceof type);
  const text = isKnown ? (error as Error).message : String((error as Error).stack);
  process.stderr.write(`${redactor.redact(text)}\n`);
  process.exitCode = 3;
}
