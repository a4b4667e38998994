import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.ts';

const { LICENSING_URL: licensingUrl, LICENSING_API_KEY: licensingKey, PORT = '8080' } = process.env;
if (licensingUrl === undefined || licensingKey === undefined)
  throw new Error('LICENSING_URL and LICENSING_API_KEY are required');

const module = AppModule.with({ licensingUrl, licensingKey });
// The signature of a webhook is of the body as it came.
const options = { rawBody: true };
const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), options);
app.useBodyParser('application/cloudevents+json');
app.enableShutdownHooks();
await app.listen(Number(PORT), '127.0.0.1');
