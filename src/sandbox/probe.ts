import type { Clock } from '../clock.ts';
import { MASKED_PATHS, READONLY_PATHS } from './container-spec.ts';
import type { ContainerStream } from './container-stream.ts';
import type { Engine } from './engine.ts';
import { type Exit, observeExit } from './exit.ts';
import { encodeProbe, FRAME_FACTS, FrameReader } from './frames.ts';

/** A started harness that was set up as a probe. */
export interface ProbeSite {
  readonly id: string;
  readonly stream: ContainerStream;
  readonly engine: Engine;
  readonly clock: Clock;
}

/** What came of a probe: what it told of its container, and how it ended when it went over its memory limit. */
export interface ProbeOutcome {
  /** Parsed JSON, or null where it told nothing that can be read. */
  readonly facts: unknown;
  /** Null where it lived on. */
  readonly exit: Exit | null;
}

/** A container with more memory is lowered to this first: taking 64 GB to show that it ends would take a minute. */
export const PROBE_MEMORY_MAX_MB = 512;
/** How far past the limit a probe goes: the kernel counts a little later than it gives. */
const OVER_BYTES = 64 * 1024 * 1024;
/** Facts take 20 ms, being killed for memory 100 ms; both take seconds on a machine in trouble. No request waits. */
const FACTS_MAX_MS = 30_000;
const END_MAX_MS = 30_000;
const EXIT_REPORT_MAX_MS = 10_000;
const FACTS_MAX_BYTES = 256 * 1024;

/** Asks a probe for its facts, then lets it go past its memory limit of so many bytes. Rejects with an EngineError. */
export async function runProbe(
  site: ProbeSite,
  memoryBytes: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const { id, stream, engine, clock } = site;
  const reader = new FrameReader(FRAME_FACTS, FACTS_MAX_BYTES);
  stream.expect(reader, FACTS_MAX_BYTES);
  stream.send([
    encodeProbe({ over_bytes: memoryBytes + OVER_BYTES, hidden: MASKED_PATHS, sealed: READONLY_PATHS }),
  ]);
  await stream.until(() => reader.state !== 'reading' || stream.overrun, FACTS_MAX_MS, signal);
  const facts = parsed(reader.payload());
  const end = await stream.until(() => stream.overrun, END_MAX_MS, signal);
  return { facts, exit: end === 'ended' ? await observeExit(engine, id, clock, EXIT_REPORT_MAX_MS) : null };
}

function parsed(payload: Buffer): unknown {
  try {
    return JSON.parse(payload.toString('utf8'));
  } catch {
    return null;
  }
}
