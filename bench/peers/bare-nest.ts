import 'reflect-metadata';
import { Controller, Get, Module, Param } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiProperty, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { serve } from './serve.ts';

/** The minimum cost of a start with Nest, Fastify and Swagger. */

class Greeting {
  @ApiProperty()
  greeting!: string;
}

@Controller()
class GreetingController {
  @Get('greetings/:name')
  greet(@Param('name') name: string): Greeting {
    return { greeting: `Hello ${name}` };
  }
}

@Module({ controllers: [GreetingController] })
class BareModule {}

const app = await NestFactory.create<NestFastifyApplication>(BareModule, new FastifyAdapter(), {
  logger: false,
});
SwaggerModule.setup(
  'docs',
  app,
  () => SwaggerModule.createDocument(app, new DocumentBuilder().setTitle('Greetings').build()),
  // Only the document is served, because the page would need a package that the gateway does not have.
  { ui: false },
);
await app.init();
await app.getHttpAdapter().getInstance().ready();
serve(app.getHttpServer());
