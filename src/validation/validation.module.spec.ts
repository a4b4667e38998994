import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import { Body, Controller, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Type } from 'class-transformer';
import { IsAlpha, ValidateNested } from 'class-validator';
import { Text } from './rules.ts';
import { ValidationModule } from './validation.module.ts';

class Known {
  @Text(10)
  name!: string;
}

class Unknown {
  @IsAlpha()
  name!: string;
}

class Nesting {
  @ValidateNested()
  @Type(() => Unknown)
  part!: Unknown;
}

function start(dto: new () => object): Promise<unknown> {
  class Things {
    make(body: object): void {
      void body;
    }
  }
  Body()(Things.prototype, 'make', 0);
  Reflect.defineMetadata('design:paramtypes', [dto], Things.prototype, 'make');
  Post()(Things.prototype, 'make', Object.getOwnPropertyDescriptor(Things.prototype, 'make') ?? {});
  Controller()(Things);
  const module = { module: ValidationModule, controllers: [Things] };
  return NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
}

it('a DTO with a decorator that compiled validation does not know stops the start, however deep it is', async () => {
  await expect(start(Unknown)).rejects.toThrow('Unknown has a rule of name');
  await expect(start(Nesting)).rejects.toThrow('Unknown has a rule of name');
  await start(Known);
});
