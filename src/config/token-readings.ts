import type { Reading } from './reading.ts';

/** The rows of `readings` about tokens and the headers that carry them. */
export const tokenReadings = {
  refreshTokens: {
    question: 'Does the password grant give a refresh token?',
    values: ['given', 'absent'],
    gateway: 'logs in again if there is none',
    asked: 'reads',
  },
  nonceForm: {
    question: 'Which form must `g_nonce` have?',
    values: ['any', 'uuid', 'digits', 'short'],
    gateway:
      'sends 32 hex digits, or, as the profile says, a UUID, 18 decimal digits, or 16 letters and digits',
    asked: 'reads',
  },
  clientToken: {
    question: 'Does the header `clientToken` have the token alone, or `Bearer` in front of it?',
    values: ['bare', 'bearer'],
    gateway: 'sends the token alone, unless the profile says `bearer`',
    asked: 'reads',
  },
  userToken: {
    question: 'Does the header `userToken` have the token alone, or `Bearer` in front of it?',
    values: ['bare', 'bearer'],
    gateway: 'sends the token alone, unless the profile says `bearer`',
    asked: 'reads',
  },
  tokenScope: {
    question: 'Does the token endpoint take a request with a `scope`?',
    values: ['taken', 'refused'],
    gateway: 'sends the scopes of its settings, unless one is empty or the profile says `refused`',
    asked: 'reads',
  },
  tokenEnvelope: {
    question: 'Where is the token in the response of the token endpoint?',
    values: ['plain', 'data'],
    gateway: 'finds it at the top, as RFC 6749 has it, or in `data`',
    asked: 'reads',
  },
  tokenStatus: {
    question: 'With which status does a token come?',
    values: ['200', '201'],
    gateway: 'takes a token with any status from 200 to 299',
    asked: 'reads',
  },
  tokenType: {
    question: 'What is the `token_type` of a token?',
    values: ['Bearer', 'bearer', 'absent'],
    gateway: 'does not read it',
    asked: 'reads',
  },
  tokenRefusals: {
    question:
      'How does the token endpoint refuse: as OAuth does, or with this status and `{ code, message }`?',
    values: ['oauth', '200', '299'],
    gateway: 'reads both: 60000 refuses the application, and 60005 the user',
    asked: 'reads',
  },
} as const satisfies Readonly<Record<string, Reading>>;
