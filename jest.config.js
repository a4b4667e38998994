import { availableParallelism } from 'node:os';

/** Tests run as ES modules on the sources: swc strips the types and keeps the decorators' metadata. */
const common = {
  testEnvironment: '<rootDir>/test/support/telling.environment.ts',
  roots: ['<rootDir>/src', '<rootDir>/sandbox', '<rootDir>/test', '<rootDir>/client', '<rootDir>/examples'],
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
          experimental: { keepImportAttributes: true },
        },
        module: { type: 'es6' },
      },
    ],
  },
  setupFilesAfterEnv: ['<rootDir>/test/canary/collect.ts'],
};

export default {
  projects: [
    // Nothing but the process itself.
    { ...common, displayName: 'unit', testMatch: ['**/*.spec.ts'] },
    // The built bundle as a process, with a real Redis and the sandbox.
    { ...common, displayName: 'service', testMatch: ['**/*.e2e.ts', '**/*.faults.ts'] },
    // What takes long; by command and by night.
    { ...common, displayName: 'long', testMatch: ['**/*.long.ts'] },
  ],
  // Suites wait for leases and deadlines half of their time, so twice as many run as there are processors. A fifth one on two processors
  // saves half a minute on a fast machine, and takes the processor from tests of time on a slow one.
  maxWorkers: availableParallelism() * 2,
  testSequencer: '<rootDir>/test/support/stories-first.sequencer.js',
  // Modules of finished suites stay in a worker's memory.
  workerIdleMemoryLimit: '500MB',
  // As long as CI waits for all of them: a test that hangs names what it waits for meanwhile, and a slow machine makes no test fail.
  testTimeout: 900_000 * Number(process.env['TEST_SLOWNESS'] ?? 1),
  // The last looks through what the others print.
  reporters: [
    'default',
    '<rootDir>/test/faults/fault-table.reporter.ts',
    '<rootDir>/test/canary/canary.reporter.ts',
  ],
};
