import httpProxy from '@fastify/http-proxy';
import { fastify } from 'fastify';
import { serve } from './serve.ts';

/** A reverse proxy of Fastify: streams, and looks at nothing. */

const app = fastify();
await app.register(httpProxy, { upstream: process.env['UPSTREAM'] ?? '', undici: { connections: 128 } });
await app.ready();
serve(app.server);
