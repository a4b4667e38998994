import { ApiProperty } from '@nestjs/swagger';
import { Identifier, SecretText } from '../validation/rules.ts';

export class CreateSessionDto {
  /** The user's account on the platform. */
  @Identifier({ example: 'admin@harbour' })
  username!: string;

  /** Passed on to the platform's user center and kept nowhere. */
  @SecretText(256)
  password!: string;
}

export class SessionCreatedDto {
  @ApiProperty({ description: 'For the header `X-Session-Id`. Shown this once; only its hash is kept.' })
  sessionId!: string;

  @ApiProperty({ format: 'date-time' })
  expiresAt!: string;
}

export class SessionDto {
  username!: string;

  @ApiProperty({ format: 'date-time' })
  createdAt!: string;

  @ApiProperty({ format: 'date-time' })
  expiresAt!: string;
}
