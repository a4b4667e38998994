import httpProxy from '@fastify/http-proxy';
import { fastify } from 'fastify';
import { serve } from './serve.ts';

/** A reverse proxy of Fastify: it streams and checks nothing. */

const app = fastify();
await app.register(httpProxy, { upstream: process.env['UPSTREAM'] ?? '', undici: { connections: 128 } });
await app.ready();
serve(app.server);
