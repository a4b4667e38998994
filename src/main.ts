import { leaveSignals } from './http/signals-at-start.ts';
import 'reflect-metadata';
import { buildApp, listen } from './app.ts';
import { loadConfig, secretsOf } from './config/app-config.ts';
import { ConfigError } from './config/config-error.ts';
import { createLog, logLibraryOutput } from './observability/log.ts';
import { Redactor } from './observability/redactor.ts';
import { endInOrder } from './http/shutdown.ts';
import { mappedStack } from './shared/mapped-stack.ts';
import { IncompleteInstallation } from './shared/shipped-file.ts';

const redactor = new Redactor();

try {
  const config = loadConfig(process.env);
  redactor.add(...secretsOf(config));
  const log = createLog(config.logLevel);
  logLibraryOutput(log);
  // Tracing is loaded only if it is used, and before the app, whose first spans it collects.
  const tracing = config.tracing.enabled
    ? (await import('./observability/tracing-sdk.ts')).startTracing(log, config.tracing)
    : undefined;
  const app = await buildApp(config, { log });
  endInOrder(app, async () => tracing?.stop());
  leaveSignals();
  await listen(app, config);
} catch (error) {
  process.stderr.write(`${redactor.redact(explain(error as NodeJS.ErrnoException))}\n`);
  process.exit(1);
}

function explain(error: NodeJS.ErrnoException): string {
  if (error instanceof ConfigError || error instanceof IncompleteInstallation) return error.message;
  return mappedStack(String(error.stack));
}
