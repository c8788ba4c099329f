import { type Step, throughGate } from './gate.ts';
import { all, askAPerson, houseRules } from './policy.ts';

/** A step of a plan, over data that the plan has fetched. */
const STEP: Step = {
  step: 'the average price of my orders',
  result_type: 'number',
  sources: [
    {
      name: 'orders',
      result: [
        { id: 1, price: 20.0 },
        { id: 2, price: 35.5 },
      ],
    },
  ],
};

const { COMPUTE_STEP_URL: url = 'http://127.0.0.1:8080', COMPUTE_STEP_KEY: key } = process.env;
if (!key) {
  console.error(
    'Set COMPUTE_STEP_KEY to an API key (and COMPUTE_STEP_URL, if it is not http://127.0.0.1:8080).',
  );
  process.exitCode = 2;
} else {
  const policy = process.argv.includes('--yes') ? houseRules : all(houseRules, askAPerson);
  try {
    const passage = await throughGate({ url, key }, STEP, policy);
    console.log(
      passage.passed
        ? `${passage.answer.state}: ${JSON.stringify(passage.answer.result ?? passage.answer.failure)}`
        : `not run: ${passage.why}`,
    );
    process.exitCode = passage.passed && passage.answer.state === 'succeeded' ? 0 : 1;
  } catch (error) {
    // A problem of the service, or no service there: one line says what, a stack would only hide it.
    const { message, cause } = error as Error & { readonly cause?: { readonly code?: string } };
    console.error(
      `approval-gate: ${message}${cause?.code === undefined ? '' : ` (${cause.code}) at ${url}`}`,
    );
    process.exitCode = 1;
  }
}
