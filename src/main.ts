import 'reflect-metadata';
import { buildApp, listen } from './app.ts';
import { ConfigError, loadConfig } from './config/app-config.ts';

try {
  const config = loadConfig(process.env);
  const app = await buildApp(config);
  // Ends with code 0 once everything in flight is answered, instead of by the signal again.
  app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
  await listen(app, config);
} catch (error) {
  process.stderr.write(`${explain(error as NodeJS.ErrnoException)}\n`);
  process.exit(1);
}

function explain(error: NodeJS.ErrnoException): string {
  if (error instanceof ConfigError) return error.message;
  // PORT or MANAGEMENT_PORT: the message names the address.
  if (error.syscall === 'listen') return error.message;
  return String(error.stack);
}
