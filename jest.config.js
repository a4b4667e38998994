import { availableParallelism } from 'node:os';

/** Tests run as ES modules on the sources: swc strips the types and keeps the decorators' metadata. */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/src', '<rootDir>/sandbox', '<rootDir>/test', '<rootDir>/client', '<rootDir>/examples'],
  testMatch: ['**/*.spec.ts', '**/*.e2e.ts', '**/*.faults.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2024',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
          keepClassNames: true,
        },
        module: { type: 'es6' },
      },
    ],
  },
  // Suites wait for leases and deadlines half of their time, so more of them run than there are processors.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  // A test that hangs fails; a test that is only slow on a busy machine does not.
  testTimeout: 120_000,
  setupFilesAfterEnv: ['<rootDir>/test/canary/collect.ts'],
  // The last looks through what the others print.
  reporters: [
    'default',
    '<rootDir>/test/faults/fault-table.reporter.ts',
    '<rootDir>/test/canary/canary.reporter.ts',
  ],
};
