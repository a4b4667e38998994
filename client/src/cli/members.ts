import { isUtf8 } from 'node:buffer';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ExportMembersInput, Job, JobRow, Licensing, RowFormat } from '../licensing.ts';
import { UsageError } from './command.ts';
import { failedRows, reasonsOnly, withoutReasons } from './failed-rows.ts';
import { outages } from './outages.ts';
import { Advised } from './place-order.ts';
import { escaped, exitCodes, print, readers, show, type Shown, tell, writeAsItIs } from './output.ts';

const BAR = 30;

interface ImportOptions extends Shown {
  readonly enterprise: string;
  readonly mode?: 'add' | 'upsert';
  readonly deleteMissing?: true;
  readonly maxDeletes?: number;
  readonly keep?: string;
  readonly dryRun?: true;
  readonly validateOnly?: true;
}

/** Starts an import and shows it to its end. The failed rows are written to a file next to the input. */
export async function importMembers(
  path: string,
  options: ImportOptions,
  licensing: Licensing,
): Promise<void> {
  const { enterprise: enterpriseGlobalId, mode, deleteMissing, maxDeletes, keep } = options;
  const input = { enterpriseGlobalId, mode, deleteMissing, maxDeletes, keep };
  const file = fileAt(path);
  const { rows, format } = file;
  if (options.dryRun || options.validateOnly) {
    const { plan } = await licensing.members.previewImport(input, rows, { format });
    show(plan ?? {}, options);
    if (!options.json && plan && plan.add > 0)
      tell('The platform checks passwords only when it adds the members: it may refuse some of these rows.');
    return;
  }
  const { jobId } = await licensing.members.import(input, rows, { format });
  await showBegun(jobId, options, licensing, file);
}

/** Starts a job of the rows that failed in an earlier one, and shows it to its end. */
export async function retryJob(
  jobId: string,
  path: string,
  options: Shown,
  licensing: Licensing,
): Promise<void> {
  const file = fileAt(path);
  const begun = await licensing.jobs.follow(jobId).retry(file.rows, { format: file.format });
  await showBegun(begun.jobId, options, licensing, file);
}

interface InputFile {
  readonly path: string;
  readonly format: RowFormat;
  /** The rows in the form that is sent. */
  readonly rows: string | Uint8Array<ArrayBuffer>;
}

/** Reads a file. One that cannot be read is refused here, before a request. The columns of an earlier failure are left out. */
function fileAt(path: string): InputFile {
  const format = /\.(ndjson|jsonl)$/.test(path) ? 'ndjson' : 'csv';
  const bytes = bytesAt(path);
  const text = bytes.toString();
  const rows = withoutReasons(text, format);
  // Text that is not UTF-8 is sent unchanged, so that the gateway can name the row.
  if (rows === text) return { path, format, rows: Uint8Array.from(bytes) };
  if (!isUtf8(bytes))
    throw new UsageError(
      `${path} is not in UTF-8, so names and passwords would change. Save it in UTF-8 (in a spreadsheet: "CSV UTF-8")`,
    );
  return { path, format, rows };
}

function bytesAt(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

/** Shows a job that this command has begun. An error after that does not mean that nothing happened. */
async function showBegun(
  jobId: string,
  options: Shown,
  licensing: Licensing,
  file: InputFile,
): Promise<void> {
  if (!options.json)
    tell(`Job ${jobId} goes on without this command; licensing jobs watch ${jobId} shows it again`);
  try {
    await showJob(jobId, options, licensing, file);
  } catch (error) {
    if (error instanceof Advised) throw error;
    const advice = `The job has begun: licensing jobs watch ${jobId} shows the job`;
    throw new Advised(advice, error, Number(process.exitCode ?? exitCodes.unknown));
  }
}

/** Shows a job from now to its end. */
export async function showJob(
  jobId: string,
  options: Shown,
  licensing: Licensing,
  file?: InputFile,
): Promise<void> {
  const asJson = options.json === true;
  // The failed rows are written even if nobody reads the progress any more.
  readers.areNeeded = false;
  const job = licensing.jobs.follow(jobId, outages(options, 'Connected again', true));
  const bar = process.stderr.isTTY && !asJson;
  let last: Job | undefined;
  for await (const progress of job) {
    last = progress;
    if (asJson) show(progress, options);
    else if (bar)
      tell(barOf(progress.done, progress.total, `, ${progress.failed} failed, ${progress.state}`), '\r', '');
  }
  if (bar) tell('');
  if (last?.state !== 'succeeded')
    process.exitCode = last === undefined ? exitCodes.unknown : exitCodes.someFailed;
  if (last === undefined) return;
  if (!asJson) show(last, options);
  const left: JobRow[] = [];
  // A job that ended early has rows that it did not send.
  const endedEarly = last.state === 'cancelled' || last.state === 'failed';
  try {
    for (const status of ['failed', 'unknown', ...(endedEarly ? (['pending'] as const) : [])] as const)
      for await (const row of job.rows(status)) left.push(row);
  } catch (error) {
    const advice = `The job is ${last.state}, but not all of its rows could be read: licensing jobs watch ${jobId} shows them`;
    throw new Advised(advice, error, exitCodes.unknown);
  }
  // Members that were to be deleted have no row in the file.
  const deletions = file ? left.filter(({ row }) => row === null) : [];
  for (const { account, status, message } of deletions) {
    const what = `Deletion of ${account ?? 'a member'}`;
    tell(status === 'pending' ? `${what} not sent` : `${what} ${status}: ${message ?? 'no reason is known'}`);
  }
  const rows = file ? left.filter(({ row }) => row !== null) : left;
  const unsent = rows.filter(({ status }) => status === 'pending').length;
  const failed = rows.length - unsent;
  if (rows.length > 0) {
    const beside = file ? besideOf(file) : `job-${jobId}.failed.csv`;
    const content = file ? failedRows(textOf(file), file.format, rows) : reasonsOnly(rows);
    try {
      // The rows contain passwords. A new file gets the mode that is given here, but an existing file would keep its own.
      rmSync(beside, { force: true });
      writeFileSync(beside, content, { mode: 0o600, flag: 'wx' });
    } catch (error) {
      const why = new Error(`${beside} cannot be written: ${(error as NodeJS.ErrnoException).code}`);
      const advice = `In a folder into which you may write, licensing jobs watch ${jobId} shows the job`;
      throw new Advised(advice, why, exitCodes.someFailed);
    }
    tell(
      `${failed} ${failed === 1 ? 'row' : 'rows'} failed${unsent > 0 ? `, ${unsent} not sent` : ''}: ${beside}`,
    );
  }
}

/** Returns the name of the file for failed rows: `new.csv.failed.csv` for `new.csv`, and `new.csv.failed-2.csv` for that one. */
function besideOf({ path, format }: InputFile): string {
  const [, first = path, number = '1'] = /^(.*)\.failed(?:-(\d+))?\.(?:csv|ndjson)$/.exec(path) ?? [];
  return first === path ? `${path}.failed.${format}` : `${first}.failed-${Number(number) + 1}.${format}`;
}

/**
 * Exports members. A file or another program gets CSV byte by byte, and a terminal beside it a progress bar. A terminal gets the CSV without
 * characters that it would obey.
 */
export async function exportMembers(
  {
    enterprise: enterpriseGlobalId,
    cells,
    json,
  }: Shown & Pick<ExportMembersInput, 'cells'> & { readonly enterprise: string },
  licensing: Licensing,
): Promise<void> {
  const format = json ? 'ndjson' : 'csv';
  const { isTTY } = process.stdout;
  const bar = process.stderr.isTTY && !isTTY && !json;
  const { total } = bar ? await licensing.members.list({ enterpriseGlobalId, pageSize: 1 }) : { total: null };
  const body = await licensing.members.export({ enterpriseGlobalId, cells }, { format });
  const decoder = new TextDecoder();
  let quotes = 0;
  // The header is no row.
  let rows = -1;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
      if (json) print(escaped(text));
      else if (isTTY) print(text.replaceAll('\r', ''));
      else writeAsItIs(text);
      // A cell in quotes may have line ends.
      for (const [sign] of bar ? text.matchAll(/["\n]/g) : [])
        if (sign === '"') quotes++;
        else if (quotes % 2 === 0) rows++;
      // The platform may count members that are not exported.
      if (bar) tell(barOf(rows, done ? rows : total), '\r', '');
      if (done) return;
    }
  } finally {
    if (bar) tell('');
  }
}

function barOf(done: number, total: number | null, more = ''): string {
  const share = total ? Math.min(1, Math.max(0, done / total)) : 0;
  const filled = Math.round(share * BAR);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ${Math.floor(share * 100)} %  ${done} of ${total ?? '?'}${more}  `;
}

function textOf({ rows }: InputFile): string {
  return typeof rows === 'string' ? rows : new TextDecoder('utf-8', { ignoreBOM: true }).decode(rows);
}
