import { accessSync, constants, existsSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { NestFactory } from '@nestjs/core';
import { loadConfig, secretsOf } from '../config/app-config.ts';
import { ConfigError } from '../config/config-error.ts';
import { type KnownPlatform, NOTHING_KNOWN, readPlatformProfile } from '../config/platform-profile.ts';
import { readingNames } from '../config/readings.ts';
import { SettingsFileError } from '../config/settings-file.ts';
import { codeModules } from '../config/taught-codes.ts';
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
import { compareWithUse, formsInUse } from './in-use.ts';
import { answerQuestions } from './questions.ts';
import { readAll } from './reads.ts';
import { exitCodeOf, jsonReport, textReport } from './report.ts';
import { findTokenScope } from './token-scope.ts';
import { askByWriting, mayHaveMembersOfItsOwn } from './writes.ts';

const USAGE =
  'usage: npm run conformance -- --enterprise <id> [--channel <code>] [--write [--yes]] [--order] [--profile <file>] [--json]';

function optionsOf(argv: string[]) {
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
  const { enterprise, write, order, profile = 'platform-profile.json' } = given;
  if (enterprise === undefined)
    throw new CannotAsk(`--enterprise is required: the global id of an enterprise.\n${USAGE}`);
  if (!isPathId(enterprise)) throw new CannotAsk(`--enterprise ${PATH_ID_RULE}.`);
  if (order && !write)
    throw new CannotAsk('--order needs --write: it places an order, and removes it again.');
  return { ...given, enterprise, profile };
}

/** The parts of its process that the command uses. */
export interface Terminal {
  readonly environment: NodeJS.ProcessEnv;
  readonly input: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly output: NodeJS.WritableStream & { readonly isTTY?: boolean };
  readonly errors: NodeJS.WritableStream;
  /** Aborted by a signal. The command removes everything that it made before it ends. */
  readonly over: AbortSignal;
}

async function ask(argv: string[], log: Log, terminal: Terminal): Promise<number> {
  const { environment, output, errors, over } = terminal;
  const options = optionsOf(argv);
  const config = loadConfig(environment);
  const { upstream, users } = config;
  log.addSecrets(...secretsOf(config));
  const user = users.file === undefined ? undefined : userFor(readUsersFile(users.file), options.enterprise);
  if (user) log.addSecrets([user.password.reveal()]);
  const inUse = upstream.profile.with({});
  const before = together(inUse, profileBefore(options.profile));
  const app = await NestFactory.createApplicationContext(ConformanceModule.with(config, log), {
    logger: new NestLog(log),
    abortOnError: false,
  });
  upstream.profile.replace({ ...before, readings: { ...before.readings, ...formsInUse(inUse.readings) } });
  const tokens = app.get(TokenManager);
  const platform = new Platform(app.get(UpstreamExchange), tokens, app.get(TokenEndpoint), user);
  const findings = new Findings();
  const target = { enterpriseGlobalId: options.enterprise, channelCode: options.channel };
  const asked = new Asked(platform, app.get(MemberList), findings, upstream, target);
  try {
    findings.found('tokenScope', await findTokenScope(tokens, upstream));
    const answers = await readAll(asked);
    answerQuestions(answers, findings, before.readings);
    check(answers, findings);
    if (options.write && !over.aborted) {
      // The findings let the gateway's own reader of lists understand this platform.
      upstream.profile.replace({ ...before, readings: findings.after(before.readings) });
      await assertMeant(asked, options.yes, terminal);
      await askByWriting(asked, answers, options.order, over);
    }
  } catch (error) {
    const { message } = error as Error;
    throw error instanceof CannotAsk || findings.left.length > 0
      ? new CannotAsk(message + leftOf(findings), { cause: error })
      : error;
  } finally {
    await app.close();
  }
  if (over.aborted) throw new CannotAsk(`Interrupted: no profile was written.${leftOf(findings)}`);
  const after = findings.after(before.readings);
  compareWithUse(findings, inUse.readings, after, upstream);
  const report = options.json
    ? `${jsonReport(findings, platform.lifetimes)}\n`
    : textReport(findings, platform.lifetimes, output.isTTY === true);
  output.write(log.redactor.redact(report));
  writeProfile(options.profile, { ...before, readings: after });
  if (!options.json) output.write(`\nProfile: ${options.profile}\n`);
  for (const what of unreadOf(findings, user?.alias)) errors.write(`${what}\n`);
  return exitCodeOf(findings);
}

function writeProfile(path: string, { readings: known, codes }: KnownPlatform): void {
  const profile = {
    version: 1,
    readings: known,
    // The meanings of codes are copied from the earlier profile, because a person has written them and no platform can be asked for them.
    codes: Object.keys(codes).length > 0 ? codes : undefined,
    notAsked: readingNames.filter((name) => known[name] === undefined),
  };
  writeFileSync(`${path}.new`, `${JSON.stringify(profile, null, 2)}\n`);
  renameSync(`${path}.new`, path);
}

/** Tells what to do, for each module of which nothing could be read. */
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

/**
 * Reads the earlier profile of this command. Its values stay valid where this run does not ask. It fails before the first question if the
 * file cannot be written.
 */
function profileBefore(path: string): KnownPlatform {
  try {
    accessSync(dirname(path), constants.W_OK);
  } catch {
    throw new CannotAsk(`--profile: no file can be written into the folder of ${path}.`);
  }
  try {
    return existsSync(path) ? readPlatformProfile(path) : NOTHING_KNOWN;
  } catch (error) {
    throw error instanceof SettingsFileError ? new CannotAsk(`--profile (${path}) ${error.message}`) : error;
  }
}

/** Returns what either profile knows. Where they differ, the later one counts. */
function together(one: KnownPlatform, later: KnownPlatform): KnownPlatform {
  const codes = codeModules.map((module) => [module, { ...one.codes[module], ...later.codes[module] }]);
  return {
    readings: { ...one.readings, ...later.readings },
    codes: Object.fromEntries(codes.filter(([, taught]) => Object.keys(taught as object).length > 0)),
  };
}

function leftOf({ left }: Findings): string {
  return left.length > 0 ? ` Could not be removed: ${left.join('; ')}.` : '';
}

/** Asks for a confirmation if the enterprise has members of its own, because it may be in use. */
async function assertMeant(asked: Asked, isConfirmed: boolean, { input, errors }: Terminal): Promise<void> {
  if (isConfirmed || !(await mayHaveMembersOfItsOwn(asked))) return;
  const what = `The enterprise ${asked.target.enterpriseGlobalId} may have members that this command has not made`;
  if (!input.isTTY) throw new CannotAsk(`${what}: give --yes if it is meant for this.`);
  const terminal = createInterface({ input, output: errors });
  const typed = await terminal.question(`${what}. Type "yes" to write there: `);
  terminal.close();
  if (typed.trim() !== 'yes') throw new CannotAsk('Nothing was written.');
}

/** Resolves to the exit code. Errors are printed, and not thrown. */
export async function runConformance(argv: string[], terminal: Terminal): Promise<number> {
  const log = createLog('silent');
  try {
    return await ask(argv, log, terminal);
  } catch (error) {
    const isKnown = [CannotAsk, ConfigError, SettingsFileError].some((type) => error instanceof type);
    const text = isKnown ? (error as Error).message : String((error as Error).stack);
    terminal.errors.write(`${log.redactor.redact(text)}\n`);
    return 3;
  }
}
