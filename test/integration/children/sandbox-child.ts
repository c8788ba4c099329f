import { createDockerSandbox } from '../../../src/sandbox/docker.ts';
import { realSettings } from '../../fakes/real-sandbox.ts';
import { dataOf, fakePermit, LIMITS, unadmitted } from '../../fakes/sandbox-run.ts';

/** A service that has one run under way and a stock, and waits to be killed. Argument: its instance id. */
const sandbox = createDockerSandbox(realSettings({ instanceId: process.argv[2] ?? '', poolSize: 1 }));
const spin = unadmitted('def compute(data):\n    while True:\n        pass\n');
void sandbox.run(spin, dataOf({}), fakePermit(), { ...LIMITS, wallMs: 2000 }, new AbortController().signal, {
  taken: () => setTimeout(() => process.send?.('running'), 300),
});
