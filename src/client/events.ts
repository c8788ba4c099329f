import { parsed } from './problem.ts';

/** One phase of a step, as `/v1/compute` tells it while the step is taken. It tells nothing of the data. */
export interface ProgressEvent {
  readonly phase: 'prompt' | 'model' | 'admission' | 'queue' | 'running';
  /** Of the Computation to come. */
  readonly id: string;
  readonly elapsed_ms: number;
  /** With `model` and `admission`: which reply of the model, from 1. */
  readonly attempt?: number;
  /** With `admission`. */
  readonly admitted?: boolean;
  readonly rule_id?: string;
  readonly line?: number;
}

/** What a stream of events ended with: the body of the answer, and whether it is a problem. */
export interface LastEvent {
  readonly kind: 'computation' | 'problem';
  readonly text: string;
}

/** Reads server-sent events (HTML Standard, section 9.2.6) piece by piece, as far as the service uses them. */
export interface EventReader {
  /** Takes the next piece of the stream; tells of each phase that is whole. What follows the last event is dropped. */
  push(piece: string): void;
  /** Null until the last event is whole. */
  readonly last: LastEvent | null;
}

/** Makes one. Events that are newer than this client are passed over. What waits is bounded by the caller's bytes. */
export function createEventReader(onProgress: (event: ProgressEvent) => void): EventReader {
  let rest = '';
  let event = '';
  let data: string[] = [];
  let last: LastEvent | null = null;

  const whole = (): void => {
    const text = data.join('\n');
    if (event === 'computation' || event === 'problem') {
      last = { kind: event, text };
    } else if (isPhase(event)) {
      const told = parsed(text);
      if (typeof told === 'object' && told !== null) {
        onProgress({ ...(told as Omit<ProgressEvent, 'phase'>), phase: event });
      }
    }
    event = '';
    data = [];
  };

  return {
    push: (piece) => {
      const lines = piece.split('\n');
      lines[0] = rest + (lines[0] ?? '');
      rest = lines.pop() ?? '';
      for (const each of lines) {
        if (last !== null) return;
        const line = each.endsWith('\r') ? each.slice(0, -1) : each;
        if (line === '') whole();
        else if (line.startsWith('event:')) event = fieldValue(line, 'event:');
        else if (line.startsWith('data:')) data.push(fieldValue(line, 'data:'));
      }
    },
    get last() {
      return last;
    },
  };
}

/** One space after the colon belongs to neither. */
function fieldValue(line: string, field: string): string {
  return line.slice(line[field.length] === ' ' ? field.length + 1 : field.length);
}

function isPhase(event: string): event is ProgressEvent['phase'] {
  return ['prompt', 'model', 'admission', 'queue', 'running'].includes(event);
}
