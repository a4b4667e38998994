import type { IncomingMessage } from 'node:http';
import type { Server } from 'node:https';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyRequest } from 'fastify';
import { AppModule } from './app.module.ts';
import { type AppConfig, secretsOf } from './config/app-config.ts';
import { ConfigError } from './config/config-error.ts';
import { memorySettings } from './http/admission.ts';
import { answerBadHttp } from './http/bad-http.ts';
import { PublicTls, tlsOptions } from './http/public-tls.ts';
import { serverLimits } from './http/server-limits.ts';
import { withoutPublicPath } from './http/public-path.ts';
import { RequestHooks } from './http/request-hooks.ts';
import { RequestLog } from './http/request-log.ts';
import { createLog, faultLog, Log, NestLog } from './observability/log.ts';
import { ManagementListener } from './observability/management.listener.ts';
import { serveEstatePage } from './estate/estate-page.ts';
import { serveDocumentation } from './documentation/documentation.ts';
import { edge, reportFaults } from './shared/edge.ts';

/**
 * The limit of connections that wait until a busy process accepts them. The system may allow fewer (`somaxconn`). With Node's 511, many
 * clients at once lose packets, and those clients try again only seconds later.
 */
const BACKLOG = 4_096;

interface Overrides {
  /** The destination of log lines instead of standard output. */
  readonly log?: Log;
}

/** Builds the gateway for the process, the tests, the exported document and the bench. It does not listen yet. */
export async function buildApp(
  config: AppConfig,
  overrides: Overrides = {},
): Promise<NestFastifyApplication> {
  const log = overrides.log ?? createLog(config.logLevel);
  log.addSecrets(...secretsOf(config));
  reportFaults(faultLog(log));
  const { certificates, publicPath } = config.listen;
  const { rewriteUrl } = serverLimits;
  const adapter = new FastifyAdapter({
    ...serverLimits,
    ...(certificates && { https: tlsOptions(certificates.current) }),
    ...(publicPath !== '' && {
      rewriteUrl: (request: IncomingMessage) => withoutPublicPath(rewriteUrl(request), publicPath),
    }),
    forceCloseConnections: 'idle',
    // Requests that arrive on an open connection while the server closes are served normally.
    return503OnClosing: false,
    exposeHeadRoutes: true,
    // The limit is longer than any URL, so that the rules report the fault. Fastify runs no hook for a longer parameter.
    routerOptions: { maxParamLength: serverLimits.http.maxHeaderSize },
    // The router refuses no path that the limits above let through. If it did, the request would pass without its hooks.
    frameworkErrors: edge('bad path', (_error: unknown, { raw }: FastifyRequest) => raw.socket.destroy()),
    clientErrorHandler: answerBadHttp((...refusal) => app.get(RequestLog).refused(...refusal), publicPath),
  });
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.with(config, log), adapter, {
    bodyParser: false,
    logger: new NestLog(log),
    abortOnError: false,
  });
  try {
    app.get(RequestHooks).connect(adapter.getInstance(), publicPath);
    if (certificates) app.get(PublicTls).connect(app.getHttpServer() as Server);
    if (config.listen.docs) serveDocumentation(app);
    serveEstatePage(app);
    await app.init();
  } catch (error) {
    // A refused start leaves no connection and no timer open.
    await app.close();
    throw error;
  }
  return app;
}

export async function listen(
  app: NestFastifyApplication,
  config: AppConfig,
): Promise<{ url: string; managementPort: number }> {
  const { port, host, managementHost } = config.listen;
  const metrics = app.get(ManagementListener);
  const managementPort = await opened('MANAGEMENT', managementHost, config.listen.managementPort, () =>
    metrics.listen(),
  );
  await opened('', host, port, () => app.listen({ port, host, backlog: BACKLOG }), managementPort);
  const url = await app.getUrl();
  app.get(Log).info({ event: 'listening', url, managementPort, ...memorySettings() }, `Listening on ${url}`);
  return { url, managementPort };
}

/**
 * Opens a listener. Throws {@link ConfigError} with the name of the variable that has to change. `managementPort` is the port that this
 * process already listens on.
 */
async function opened<T>(
  prefix: '' | 'MANAGEMENT',
  host: string,
  port: number,
  open: () => Promise<T>,
  managementPort?: number,
): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const { syscall, code } = error as NodeJS.ErrnoException;
    if (syscall !== 'listen' && syscall !== 'getaddrinfo') throw error;
    const [hostVariable, portVariable] = ['HOST', 'PORT'].map((name) =>
      prefix ? `${prefix}_${name}` : name,
    );
    const user =
      port === managementPort
        ? `MANAGEMENT_PORT is ${port} as well`
        : `another process listens on ${host}:${port}`;
    const faults: Readonly<Record<string, string>> = {
      EADDRINUSE: `${portVariable} must be a port that is free: ${user}`,
      EACCES: `${portVariable} must be a port that this process may listen on: ${port} is reserved`,
    };
    throw new ConfigError([
      faults[code ?? ''] ?? `${hostVariable} must be an address of this machine (${code})`,
    ]);
  }
}
