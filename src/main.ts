#!/usr/bin/env node
import { dispatch } from './commands/dispatch.ts';
import { doctor } from './commands/doctor.ts';
import { keyCreate } from './commands/key-create.ts';
import { model } from './commands/model.ts';
import { sandboxd } from './commands/sandboxd.ts';
import { serve } from './commands/serve.ts';
import { usageExport } from './commands/usage-export.ts';

await dispatch([serve, sandboxd, doctor, keyCreate, usageExport, model], process.argv.slice(2));
