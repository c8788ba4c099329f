import { createClient } from '../../src/client/client.ts';
import { chatModel } from './model.ts';
import { PLAN, TOOLS } from './plan.ts';
import { runPlan } from './runner.ts';

const {
  COMPUTE_STEP_URL: baseUrl = 'http://127.0.0.1:8080',
  COMPUTE_STEP_KEY: apiKey,
  MODEL_URL: url,
  MODEL_NAME: name = 'default',
  MODEL_KEY: key,
  PLAN_ID: planId = `plan-${Date.now()}`,
} = process.env;

if (!apiKey || !url) {
  console.error(
    'Set COMPUTE_STEP_KEY to an API key, and MODEL_URL to a Chat Completions endpoint (MODEL_NAME, MODEL_KEY).',
  );
  process.exitCode = 2;
} else {
  try {
    const results = await runPlan(
      PLAN,
      {
        client: createClient({ baseUrl, apiKey }),
        tools: TOOLS,
        model: chatModel({ url, name, key }),
        done: (id, what) => console.log(`${id.padEnd(10)} ${what}`),
      },
      planId,
    );
    console.log(`\n${PLAN.at(-1)?.id}: ${results.get(PLAN.at(-1)?.id ?? '')?.json}`);
  } catch (error) {
    console.error(`plan: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
