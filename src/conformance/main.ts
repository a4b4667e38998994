import 'reflect-metadata';
import { accessSync, constants, existsSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { loadConfig, secretsOf } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { type KnownPlatform, NOTHING_KNOWN, readPlatformProfile } from '../config/platform-profile.ts';
import { plainReadings, readingNames } from '../config/readings.ts';
import { SettingsFileError } from '../config/settings-file.ts';
import { createLog, type Log, NestLog } from '../observability/log.ts';
import { TokenEndpoint } from '../token/token.endpoint.ts';
import { TokenManager } from '../token/token.manager.ts';
import { readUsersFile, userFor } from '../upstream/alias-users.ts';
import { MemberList } from '../upstream/member-list.ts';
import { isPathId, PATH_ID_RULE } from '../upstream/operations.ts';
import { UpstreamExchange } from '../upstream/upstream.exchange.ts';
import { Asked } from './asked.ts';
import { check } from './checks.ts';
import { ConformanceModule } from './conformance.module.ts';
import { Findings } from './findings.ts';
import { CannotAsk } from './cannot-ask.ts';
import { Platform } from './platform.ts';
import { answerQuestions, triedFirst } from './questions.ts';
import { readAll } from './reads.ts';
import { exitCodeOf, jsonReport, textReport } from './report.ts';
import { findTokenScope } from './token-scope.ts';
import { askByWriting, mayHaveMembersOfItsOwn } from './writes.ts';

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

async function main(argv: string[], log: Log): Promise<number> {
  const options = optionsOf(argv);
  const config = loadConfig(process.env);
  const { upstream, users } = config;
  log.addSecrets(...secretsOf(config));
  const user = users.file === undefined ? undefined : userFor(readUsersFile(users.file), options.enterprise);
  if (user) log.addSecrets([user.password.reveal()]);
  const before = profileBefore(options.profile);
  const told = upstream.profile.with({}).readings;
  const app = await NestFactory.createApplicationContext(ConformanceModule.with(config, log), {
    logger: new NestLog(log),
    abortOnError: false,
  });
  const tokens = app.get(TokenManager);
  const platform = new Platform(app.get(UpstreamExchange), tokens, app.get(TokenEndpoint), user);
  const findings = new Findings();
  const target = { enterpriseGlobalId: options.enterprise, channelCode: options.channel };
  const asked = new Asked(platform, app.get(MemberList), findings, upstream, target);
  const over = new AbortController();
  // What was made is removed before the process ends.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => over.abort());
  try {
    findings.found('tokenScope', await findTokenScope(tokens, upstream));
    const answers = await readAll(asked);
    answerQuestions(answers, findings);
    check(answers, findings);
    if (options.write && !over.signal.aborted) {
      // With what was found out the gateway's own reader of lists understands this platform.
      upstream.profile.replace(upstream.profile.with(findings.readings));
      await assertMeant(asked, options.yes);
      await askByWriting(asked, options.order, over.signal);
    }
  } catch (error) {
    const { message } = error as Error;
    throw error instanceof CannotAsk || findings.left.length > 0
      ? new CannotAsk(message + leftOf(findings), { cause: error })
      : error;
  } finally {
    await app.close();
  }
  if (over.signal.aborted) throw new CannotAsk(`Interrupted: no profile was written.${leftOf(findings)}`);
  const { timestampUnit } = findings.readings;
  if (timestampUnit !== undefined && timestampUnit !== upstream.timestampUnit)
    findings.remark(
      `Times are in ${timestampUnit}, and the gateway reads them in ${upstream.timestampUnit}: set UPSTREAM_TIMESTAMP_UNIT=${timestampUnit}, or PLATFORM_PROFILE_FILE.`,
      true,
    );
  for (const name of triedFirst) {
    const [needed, used] = [findings.readings[name], told[name] ?? plainReadings[name]];
    if (needed !== undefined && needed !== used)
      findings.remark(
        `The platform takes calls with \`${name}\` ${needed}, and refuses the gateway's with ${used}: set PLATFORM_PROFILE_FILE to the profile of this run.`,
        true,
      );
  }
  const report = options.json
    ? `${jsonReport(findings, platform.lifetimes)}\n`
    : textReport(findings, platform.lifetimes, process.stdout.isTTY);
  process.stdout.write(log.redactor.redact(report));
  writeProfile(options.profile, { ...before, readings: { ...before.readings, ...findings.readings } });
  if (!options.json) process.stdout.write(`\nProfile: ${options.profile}\n`);
  for (const what of unreadOf(findings, user?.alias)) process.stderr.write(`${what}\n`);
  return exitCodeOf(findings);
}

function writeProfile(path: string, { readings: known, codes }: KnownPlatform): void {
  const profile = {
    version: 1,
    readings: known,
    // Nobody can ask a platform what its codes mean: a person has written them.
    codes: Object.keys(codes).length > 0 ? codes : undefined,
    notAsked: readingNames.filter((name) => known[name] === undefined),
  };
  writeFileSync(`${path}.new`, `${JSON.stringify(profile, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}

/** Says for each module of which nothing could be read what to do. */
function unreadOf({ unread }: Findings, alias: string | undefined): string[] {
  const reasons = {
    order:
      'Nothing could be read of the order module: check --enterprise and --channel, and what the application may read.',
    member:
      alias === undefined
        ? 'Nothing could be read of the member center: UPSTREAM_USERS_FILE has no user who serves this enterprise.'
        : `Nothing could be read of the member center: check --enterprise, and what the user \`${alias}\` may read.`,
  };
  return unread.map((module) => reasons[module]);
}

/** What is known already stays known where this run does not ask it. Fails before anything is asked where the file cannot be written. */
function profileBefore(path: string): KnownPlatform {
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch {
    throw new CannotAsk(`--profile: no file can be written into the folder of ${path}.`);
  }
  return existsSync(path) ? readPlatformProfile(path) : NOTHING_KNOWN;
}

function leftOf({ left }: Findings): string {
  return left.length > 0 ? ` Could not be removed: ${left.join('; ')}.` : '';
}

/** An enterprise with members of its own may be in use. */
async function assertMeant(asked: Asked, isConfirmed: boolean): Promise<void> {
  if (isConfirmed || !(await mayHaveMembersOfItsOwn(asked))) return;
  const what = `The enterprise ${asked.target.enterpriseGlobalId} may have members that this command has not made`;
  if (!process.stdin.isTTY) throw new CannotAsk(`${what}: give --yes if it is meant for this.`);
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await terminal.question(`${what}. Type "yes" to write there: `);
  terminal.close();
  if (typed.trim() !== 'yes') throw new CannotAsk('Nothing was written.');
}

const log = createLog('silent');
try {
  process.exitCode = await main(process.argv.slice(2), log);
} catch (error) {
  const isKnown = [CannotAsk, ConfigError, SettingsFileError].some((type) => error instanceof type);
  const text = isKnown ? (error as Error).message : String((error as Error).stack);
  process.stderr.write(`${log.redactor.redact(text)}\n`);
  process.exitCode = 3;
}
