import { createReadStream, writeFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { Job, JobRow, Licensing } from '../licensing.ts';
import { type Given, UsageError } from './arguments.ts';
import { exitCodes, fieldsOf } from './output.ts';

type Write = (text: string) => void;

const BAR = 30;

/** Starts an import and shows it to its end; the failed rows go into a file beside the input. */
export async function importMembers(given: Given, licensing: Licensing, write: Write): Promise<number> {
  const { places, text, yes } = given;
  const [path = ''] = places;
  const format = /\.(ndjson|jsonl)$/.test(path) ? ('ndjson' as const) : ('csv' as const);
  const maxDeletes = text['max-deletes'];
  const input = {
    ...enterpriseOf(given),
    ...(text['mode'] !== undefined && { mode: text['mode'] as 'add' | 'upsert' }),
    ...(yes.has('delete-missing') && { deleteMissing: true }),
    ...(maxDeletes !== undefined && { maxDeletes: Number(maxDeletes) }),
    ...(text['keep'] !== undefined && { keep: text['keep'] }),
  };
  const rows = Readable.toWeb(createReadStream(path)) as ReadableStream<Uint8Array>;
  const asJson = yes.has('json');
  if (yes.has('validate-only')) {
    const plan = await licensing.members.previewImport(input, rows, { format });
    write(asJson ? `${JSON.stringify(plan)}\n` : fieldsOf(plan));
    return exitCodes.done;
  }
  const job = await licensing.members.import(input, rows, { format });
  const bar = process.stderr.isTTY && !asJson;
  let last: Job | undefined;
  for await (const progress of job) {
    last = progress;
    if (asJson) write(`${JSON.stringify(progress)}\n`);
    else if (bar) process.stderr.write(`\r${barOf(progress)}`);
  }
  if (bar) process.stderr.write('\n');
  if (last === undefined) return exitCodes.unknown;
  if (!asJson) write(fieldsOf(last));
  const open: JobRow[] = [];
  for (const status of ['failed', 'unknown'] as const)
    for await (const row of job.rows(status)) open.push(row);
  if (open.length > 0) {
    const beside = `${path}.failed.csv`;
    writeFileSync(beside, failedFile(open));
    process.stderr.write(`${open.length} rows failed: ${beside}\n`);
  }
  return last.state === 'succeeded' ? exitCodes.done : exitCodes.someFailed;
}

export async function exportMembers(given: Given, licensing: Licensing, write: Write): Promise<number> {
  const body = await licensing.members.export(enterpriseOf(given), {
    format: given.yes.has('json') ? 'ndjson' : 'csv',
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    write(done ? decoder.decode() : decoder.decode(value, { stream: true }));
    if (done) return exitCodes.done;
  }
}

function enterpriseOf({ command, text }: Given): { enterpriseGlobalId: string } {
  const enterpriseGlobalId = text['enterprise'];
  if (enterpriseGlobalId === undefined) throw new UsageError(`${command.name} needs --enterprise`);
  return { enterpriseGlobalId };
}

function barOf({ done, total, failed, state }: Job): string {
  const share = total === 0 ? 0 : done / total;
  const filled = Math.round(share * BAR);
  return `${'█'.repeat(filled)}${'░'.repeat(BAR - filled)} ${Math.floor(share * 100)} %  ${done} of ${total}, ${failed} failed, ${state}  `;
}

function failedFile(rows: readonly JobRow[]): string {
  // What begins like this, a spreadsheet would run as a formula.
  const cell = (value: string | number | null) => {
    const plain = String(value ?? '').replace(/^(?=[=+\-@\t\r])/, "'");
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  const lines = rows.map(({ row, account, status, code, message }) =>
    [row, account, status, code, message].map(cell).join(','),
  );
  return `${['row,account,status,code,message', ...lines].join('\r\n')}\r\n`;
}
