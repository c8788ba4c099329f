import { createSchemaChecker } from '../../../src/result/schema-check.ts';

/** A process that checks once, closes nothing and has nothing else to do. */
const verdict = await createSchemaChecker().check({ type: 'number' }, '1');
process.stdout.write(verdict.kind);
