import closeWithGrace from 'close-with-grace';
import type { AdmittedFunction } from '../../src/admission/admit.ts';
import type { Meter, Permit } from '../../src/metering/permit.ts';
import type { Sandbox } from '../../src/sandbox/port.ts';

/**
 * `serve` as it was built, but for one thing: at the point that CRASH_AT names the process ends as by kill -9. The
 * points are those that timing from outside cannot hit.
 */
const built = new URL('../../dist/', import.meta.url).href;
const { composeService } = (await import(`${built}compose.js`)) as typeof import('../../src/compose.ts');
const { loadConfig } = (await import(`${built}config.js`)) as typeof import('../../src/config.ts');

export const CRASH_POINTS = [
  'before_open',
  'after_open',
  'before_sandbox',
  'before_started',
  'after_started',
  'before_settle',
  'after_settle',
] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

/** Ends the process at this point, if it is the one asked for; nothing behind it runs. */
function crashAt(point: CrashPoint): void {
  if (process.env.CRASH_AT !== point) return;
  process.kill(process.pid, 'SIGKILL');
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
}

function crashingPermit(permit: Permit): Permit {
  return {
    ...permit,
    async started(codeSha256: string) {
      crashAt('before_started');
      const written = await permit.started(codeSha256);
      crashAt('after_started');
      return written;
    },
    async settle(...charge: Parameters<Permit['settle']>) {
      crashAt('before_settle');
      const metered = await permit.settle(...charge);
      crashAt('after_settle');
      return metered;
    },
  } as Permit;
}

function crashingMeter(meter: Meter): Meter {
  return {
    ...meter,
    async open(...asked: Parameters<Meter['open']>) {
      crashAt('before_open');
      const permit = await meter.open(...asked);
      crashAt('after_open');
      return 'kind' in permit ? permit : crashingPermit(permit);
    },
  };
}

function crashingSandbox(sandbox: Sandbox): Sandbox {
  return {
    readiness: () => sandbox.readiness(),
    close: () => sandbox.close(),
    run(fn: AdmittedFunction, ...rest) {
      crashAt('before_sandbox');
      return sandbox.run(fn, ...rest);
    },
  };
}

const config = loadConfig();
if ('kind' in config) throw new Error(config.faults.join('; '));
const service = await composeService(config, '0.0.0-test', undefined, {
  meter: crashingMeter,
  sandbox: crashingSandbox,
});
if ('faults' in service) throw new Error(service.faults.join('; '));
closeWithGrace({ delay: 10_000 }, () => service.close());
await service.listen();
