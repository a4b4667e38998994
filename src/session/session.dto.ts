import { ApiProperty } from '@nestjs/swagger';
import { Identifier, SecretText } from '../validation/rules.ts';

export class CreateSessionDto {
  /** The user's account on the platform. */
  @Identifier({ example: 'admin@harbour' })
  username!: string;

  /** The gateway sends it to the platform's user center and does not keep it. */
  @SecretText(256)
  password!: string;
}

export class SessionCreatedDto {
  @ApiProperty({
    description:
      'For the header `X-Session-Id`. It is shown only in this response; the gateway keeps only its hash.',
  })
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
