// In a project of your own: import … from 'compute-step/client'
import {
  ComputeStepConnectionError,
  ComputeStepProblem,
  createClient,
  withRetries,
} from '../../src/client/client.ts';

/** Text as a tool returned it. As text its digits stay: 9007199254740993 would be …992 as a number of JavaScript. */
const ORDERS = '[{"id": 9007199254740993, "price": 20.0}, {"id": 9007199254740995, "price": 35.5}]';

const { COMPUTE_STEP_URL: baseUrl = 'http://127.0.0.1:8080', COMPUTE_STEP_KEY: apiKey } = process.env;

async function main(key: string): Promise<number> {
  const client = createClient({ baseUrl, apiKey: key });
  const answer = await withRetries(
    (attempt) =>
      client.compute(
        {
          step: 'the average price of my orders',
          result_type: 'number',
          sources: [{ tool: 'list_orders', name: 'orders', result_json: ORDERS }],
          include: ['code'],
        },
        attempt,
      ),
    {
      deadlineMs: 120_000,
      onRetry: (error, waitMs) => console.error(`again in ${Math.ceil(waitMs / 1000)} s: ${error.message}`),
    },
  );
  const { admission, failure, metered, quota } = answer;
  switch (answer.state) {
    case 'succeeded':
      // `result` is the parsed value, `resultText` its digits.
      console.log(`result     ${answer.resultText}`);
      break;
    case 'not_admitted':
      console.log(`refused    ${admission.admitted ? '' : `${admission.rule}, line ${admission.line}`}`);
      break;
    case 'failed':
      console.log(`failed     ${failure?.code}: ${failure?.message}`);
  }
  console.log(`function\n${answer.function.code ?? ''}`);
  console.log(`metered    ${metered.compute_runs} run, ${metered.compute_seconds} s`);
  console.log(
    `this month ${quota?.compute_runs.used} of ${quota?.compute_runs.limit ?? 'any number of'} runs`,
  );
  return answer.state === 'succeeded' ? 0 : 1;
}

// An empty variable is no key either.
if (!apiKey) {
  console.error('Set COMPUTE_STEP_KEY to an API key (compute-step key create).');
  process.exitCode = 2;
} else {
  try {
    process.exitCode = await main(apiKey);
  } catch (error) {
    // Both are expected in a plan's life: what is asked for cannot be had, or nobody answers.
    if (!(error instanceof ComputeStepProblem) && !(error instanceof ComputeStepConnectionError)) throw error;
    console.error(`no answer: ${error.message}`);
    process.exitCode = 1;
  }
}
