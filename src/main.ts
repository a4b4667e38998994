import 'reflect-metadata';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, constants, getPriority, setPriority } from 'node:os';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { buildApp, listen } from './app.ts';
import { ConfigError, loadConfig, secretsOf } from './config/app-config.ts';
import { logLibraryOutput } from './observability/library-output.ts';
import { createLog } from './observability/log.ts';
import { Redactor } from './observability/redactor.ts';
import { endInOrder } from './http/shutdown.ts';
import { IncompleteInstallation } from './shared/shipped-file.ts';

/**
 * Below this limit of its heap V8 collects all objects each time that a third more is in use than what lives, buffers included: in a
 * container of 512 MiB several times a second under load. There it waits until twice as much is in use. A larger heap waits longer by
 * itself. Not an option of the command: V8 would refuse the compiled code that Node's own modules and the image bring, which is
 * loaded by then.
 */
const SMALL_HEAP = 1_024 * 1_024 * 1_024;

const redactor = new Redactor();

try {
  const config = loadConfig(process.env);
  redactor.add(secretsOf(config));
  if (getHeapStatistics().heap_size_limit < SMALL_HEAP) setFlagsFromString('--heap-growing-percent=100');
  if (process.platform === 'linux' && availableParallelism() > 1) lowerHelpers();
  const log = createLog(config.logLevel);
  logLibraryOutput(log);
  // Loaded only where it is used, and before the app, whose first spans it collects.
  const tracing = config.tracing.enabled
    ? (await import('./observability/tracing-sdk.ts')).startTracing(log, config.tracing)
    : undefined;
  const app = await buildApp(config, { log });
  endInOrder(app, async () => tracing?.stop());
  await listen(app, config);
} catch (error) {
  process.stderr.write(`${redactor.redact(explain(error as NodeJS.ErrnoException))}\n`);
  process.exit(1);
}

/**
 * V8's helper threads collect garbage and compile beside the thread that serves requests. With the same priority they take a core from it
 * when all are busy. Where there is one core only, it would wait for them.
 */
function lowerHelpers(): void {
  const lower = Math.min(
    getPriority() + constants.priority.PRIORITY_BELOW_NORMAL,
    constants.priority.PRIORITY_LOW,
  );
  try {
    for (const thread of readdirSync('/proc/self/task'))
      if (readFileSync(`/proc/self/task/${thread}/comm`, 'utf8') === 'V8Worker\n')
        setPriority(Number(thread), lower);
  } catch {
    // The gateway works without it, where the system does not allow it.
  }
}

function explain(error: NodeJS.ErrnoException): string {
  if (error instanceof ConfigError || error instanceof IncompleteInstallation) return error.message;
  return String(error.stack);
}
