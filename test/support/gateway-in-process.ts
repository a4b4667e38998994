import 'reflect-metadata';
import { Writable } from 'node:stream';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { buildApp, listen } from '../../src/app.ts';
import { loadConfig } from '../../src/config/app-config.ts';
import { Admission } from '../../src/http/admission.ts';
import { createLog } from '../../src/observability/log.ts';
import { keep, keepAnswers } from './canary.ts';
import { type Start, TestGateway } from './gateway.ts';

export type GatewayInProcess = TestGateway & { readonly app: NestFastifyApplication };

type Given = Parameters<typeof TestGateway.start>;

/**
 * The sources as a gateway in this process: for what no request can show or cause, such as a part that throws, and for the suites in which
 * each of many tests needs a gateway without a past. A process of the bundle takes six times as long to start.
 */
export async function startInProcess(
  sandbox: Given[0],
  environment?: Given[1],
  callers?: Given[2],
): Promise<GatewayInProcess> {
  let started: NestFastifyApplication | undefined;
  const start: Start = async (all) => {
    const config = loadConfig(all);
    let output = '';
    const sink = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        keep('log', chunk);
        output += chunk.toString();
        done();
      },
    });
    const app = await buildApp(config, { log: createLog(config.logLevel, sink) });
    started = app;
    app.getHttpServer().on('connection', keepAnswers);
    const { url, managementPort } = await listen(app, config);
    // The timers and the heap of this process tell how busy the test is: no reason for the gateway to refuse requests.
    const admission = app.get(Admission);
    admission.sample(0, 0, 0);
    admission.sample = () => undefined;
    const managementUrl = `http://127.0.0.1:${managementPort}`;
    return { url, managementUrl, output: () => output, stop: () => app.close() };
  };
  const gateway = await TestGateway.start(sandbox, environment, callers, start);
  return Object.assign(gateway, { app: started as NestFastifyApplication });
}
