import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Job, JobRow, Licensing, RowFormat } from '../licensing.ts';
import { type Given, UsageError } from './arguments.ts';
import { failedRows, reasonsOnly, withoutReasons } from './failed-rows.ts';
import { outages } from './outages.ts';
import { escaped, exitCodes, fieldsOf, jsonOf, tell, writeAsItIs } from './output.ts';

type Write = (text: string) => void;

const BAR = 30;

/** Starts an import and shows it to its end; the failed rows go into a file beside the input. */
export async function importMembers(given: Given, licensing: Licensing, write: Write): Promise<number> {
  const { places, text, yes } = given;
  const [path = ''] = places;
  const maxDeletes = text['max-deletes'];
  const input = {
    ...enterpriseOf(given),
    ...(text['mode'] !== undefined && { mode: text['mode'] as 'add' | 'upsert' }),
    ...(yes.has('delete-missing') && { deleteMissing: true }),
    ...(maxDeletes !== undefined && { maxDeletes: Number(maxDeletes) }),
    ...(text['keep'] !== undefined && { keep: text['keep'] }),
  };
  const file = fileAt(path);
  const { rows, format } = file;
  if (yes.has('dry-run') || yes.has('validate-only')) {
    const { plan } = await licensing.members.previewImport(input, rows, { format });
    write(yes.has('json') ? `${jsonOf(plan)}\n` : fieldsOf(plan ?? {}));
    if (!yes.has('json') && plan && plan.add > 0)
      tell('The platform checks passwords only when it adds the members: it may refuse some of these rows.');
    return exitCodes.done;
  }
  const { jobId } = await licensing.members.import(input, rows, { format });
  announce(given, jobId);
  return shown(given, licensing, write, { jobId, file });
}

/** Starts a job of the rows that failed in an earlier one, and shows it to its end. */
export async function retryJob(given: Given, licensing: Licensing, write: Write): Promise<number> {
  const [jobId = '', path = ''] = given.places;
  const file = fileAt(path);
  const begun = await licensing.jobs.follow(jobId).retry(file.rows, { format: file.format });
  announce(given, begun.jobId);
  return shown(given, licensing, write, { jobId: begun.jobId, file });
}

/** Shows a job from now to its end. */
export function watchJob(given: Given, licensing: Licensing, write: Write): Promise<number> {
  const [jobId = ''] = given.places;
  return shown(given, licensing, write, { jobId });
}

interface InputFile {
  readonly path: string;
  readonly format: RowFormat;
  /** As they are sent. */
  readonly rows: string | Uint8Array<ArrayBuffer>;
}

/** A file that cannot be read is refused here, before a request. The columns of an earlier failure are left out. */
function fileAt(path: string): InputFile {
  const format = /\.(ndjson|jsonl)$/.test(path) ? 'ndjson' : 'csv';
  try {
    const bytes = readFileSync(path);
    const text = bytes.toString();
    const rows = withoutReasons(text, format);
    // What is not UTF-8 is not changed on its way: the gateway names the row.
    return { path, format, rows: rows === text ? Uint8Array.from(bytes) : rows };
  } catch (error) {
    throw new UsageError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function announce({ yes }: Given, jobId: string): void {
  if (!yes.has('json'))
    tell(`Job ${jobId} goes on without this command; licensing jobs watch ${jobId} shows it again`);
}

async function shown(
  given: Given,
  licensing: Licensing,
  write: Write,
  { jobId, file }: Readonly<{ jobId: string; file?: InputFile }>,
): Promise<number> {
  const { yes } = given;
  const job = licensing.jobs.follow(jobId, outages(given, 'Connected again', true));
  const asJson = yes.has('json');
  const bar = process.stderr.isTTY && !asJson;
  let last: Job | undefined;
  for await (const progress of job) {
    last = progress;
    if (asJson) write(`${jsonOf(progress)}\n`);
    else if (bar) tell(barOf(progress), '\r', '');
  }
  if (bar) tell('');
  if (last === undefined) return exitCodes.unknown;
  if (!asJson) write(fieldsOf(last));
  const left: JobRow[] = [];
  for (const status of ['failed', 'unknown'] as const)
    for await (const row of job.rows(status)) left.push(row);
  if (left.length > 0) {
    const beside = file ? besideOf(file) : `job-${jobId}.failed.csv`;
    // The rows have passwords. A new file has the mode that is given here; a file that is there keeps its own.
    rmSync(beside, { force: true });
    writeFileSync(beside, file ? failedRows(textOf(file), file.format, left) : reasonsOnly(left), {
      mode: 0o600,
      flag: 'wx',
    });
    tell(`${left.length} ${left.length === 1 ? 'row' : 'rows'} failed: ${beside}`);
  }
  return last.state === 'succeeded' ? exitCodes.done : exitCodes.someFailed;
}

/** The file for rows that failed: of `new.csv` it is `new.csv.failed.csv`, and of that one `new.csv.failed-2.csv`. */
function besideOf({ path, format }: InputFile): string {
  const [, first = path, number = '1'] = /^(.*)\.failed(?:-(\d+))?\.(?:csv|ndjson)$/.exec(path) ?? [];
  return first === path ? `${path}.failed.${format}` : `${first}.failed-${Number(number) + 1}.${format}`;
}

/** A file or another program gets CSV byte by byte; a terminal gets it as all else. */
export async function exportMembers(given: Given, licensing: Licensing, write: Write): Promise<number> {
  const asJson = given.yes.has('json');
  const body = await licensing.members.export(enterpriseOf(given), { format: asJson ? 'ndjson' : 'csv' });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
    if (asJson) write(escaped(text));
    else if (process.stdout.isTTY) write(text.replaceAll('\r', ''));
    else writeAsItIs(text);
    if (done) return exitCodes.done;
  }
}

function enterpriseOf({ text: { enterprise = '' } }: Given): { enterpriseGlobalId: string } {
  return { enterpriseGlobalId: enterprise };
}

function barOf({ done, total, failed, state }: Job): string {
  const share = total === 0 ? 0 : done / total;
  const filled = Math.round(share * BAR);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ${Math.floor(share * 100)} %  ${done} of ${total}, ${failed} failed, ${state}  `;
}

function textOf({ rows }: InputFile): string {
  return typeof rows === 'string' ? rows : new TextDecoder().decode(rows);
}
