import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { Time } from '../operation/response-fields.ts';
import { Identifier, SecretText } from '../validation/rules.ts';

@ApiSchema({ description: 'A login of a user of the platform' })
export class CreateSessionDto {
  @Identifier({ example: 'admin@harbour' })
  username!: string;

  /** The user's password. The gateway sends it to the platform's user center and does not keep it. */
  @SecretText()
  password!: string;
}

@ApiSchema({ description: 'A new session' })
export class SessionCreatedDto {
  @ApiProperty({
    description:
      'For the header `X-Session-Id`. No other operation shows it, and the gateway keeps only its hash, unless the request has an `Idempotency-Key`: ' +
      'then the gateway keeps this response for 7 days, encrypted, for a repeat of the request.',
  })
  sessionId!: string;

  @Time()
  expiresAt!: string;
}

@ApiSchema({ description: 'A session' })
export class SessionDto {
  username!: string;

  @Time()
  createdAt!: string;

  @Time()
  expiresAt!: string;
}
