import { type AnswerBounds, readAnswer, type SelfReading } from './answer.ts';
import type { Ending } from './follow.ts';
import type { RunReport, RunUsage } from './port.ts';

const NO_READING: SelfReading = { cpuSeconds: null, peakMemoryBytes: null };

/**
 * The report on a run from how it ended and, if it answered, what the answer says once it has been validated. An
 * answer that the harness would not have written is a crash, whatever it claims.
 */
export function runReport(ending: Ending, image: string, bounds: AnswerBounds): RunReport {
  const { measured } = ending;
  const usage = (self: SelfReading, outputBytes = ending.outputBytes): RunUsage => ({
    wallNs: ending.wallNs,
    cpuSeconds: measured?.cpuSeconds ?? self.cpuSeconds,
    ...peakOf(measured?.peakMemoryBytes ?? null, self.peakMemoryBytes),
    exitCode: ending.exitCode,
    outputBytes,
    image,
  });
  if (ending.kind === 'killed') {
    return { kind: 'killed', reason: ending.reason, usage: usage(NO_READING) };
  }
  const answer = readAnswer(ending.payload, bounds);
  switch (answer.kind) {
    case 'returned': {
      const { result, printed } = answer;
      return { kind: 'returned', result, printed, usage: usage(answer, result.byteLength) };
    }
    case 'raised': {
      const { exception, line, text, printed } = answer;
      return { kind: 'raised', exception, line, text, printed, usage: usage(answer) };
    }
    case 'notJson':
      return { kind: 'notJson', notJson: answer.notJson, usage: usage(answer) };
    case 'tooLarge':
      return { kind: 'killed', reason: 'output_too_large', usage: usage(answer) };
    case 'garbled':
      return { kind: 'killed', reason: 'sandbox_crashed', usage: usage(NO_READING) };
  }
}

/** The engine's reading before the harness's own, which a function that broke out can forge. */
function peakOf(
  engine: number | null,
  self: number | null,
): Pick<RunUsage, 'peakMemoryBytes' | 'peakMemorySource'> {
  return engine !== null
    ? { peakMemoryBytes: engine, peakMemorySource: 'engine' }
    : { peakMemoryBytes: self, peakMemorySource: self === null ? null : 'self' };
}
