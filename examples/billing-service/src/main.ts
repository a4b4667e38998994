import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { AppModule } from './app.module.ts';

const { LICENSING_URL: licensingUrl, LICENSING_API_KEY: licensingKey, PORT = '8080' } = process.env;
if (licensingUrl === undefined || licensingKey === undefined)
  throw new Error('LICENSING_URL and LICENSING_API_KEY are required');

const app = await NestFactory.create(AppModule.with({ licensingUrl, licensingKey }), new FastifyAdapter());
app.enableShutdownHooks();
await app.listen(Number(PORT), '127.0.0.1');
