import { readdirSync, readFileSync } from 'node:fs';
import type { BuiltService, HttpAnswer } from './running-service.ts';
import type { ScriptedAnswer, ScriptedRequest } from './scripted-model.ts';

/** One kind of step of the mix: what it asks and what it must come to. */
interface Kind {
  readonly name: string;
  /** Of a hundred steps. */
  readonly share: number;
  /** The outcome in the ledger; null counts nothing. */
  readonly counts: 'succeeded' | 'exception' | 'timeout' | 'result_type_mismatch' | null;
  /** How the metrics name the end of the step. */
  readonly outcome: string;
  readonly code: string;
  /** Whether a model writes the function; else it is posted. */
  readonly asked: boolean;
}

const SPIN = 'def compute(data):\n    while True:\n        pass\n';

export const KINDS: readonly Kind[] = [
  {
    name: 'returns',
    share: 40,
    counts: 'succeeded',
    outcome: 'succeeded',
    code: 'def compute(data):\n    return len(data["x"])\n',
    asked: false,
  },
  {
    name: 'written',
    share: 20,
    counts: 'succeeded',
    outcome: 'succeeded',
    code: 'def compute(data):\n    return 42\n',
    asked: true,
  },
  {
    name: 'refused',
    share: 10,
    counts: null,
    outcome: 'code_not_admitted',
    code: 'import socket\n\ndef compute(data):\n    return 1\n',
    asked: false,
  },
  {
    name: 'raises',
    share: 10,
    counts: 'exception',
    outcome: 'exception',
    code: 'def compute(data):\n    return 1 / 0\n',
    asked: false,
  },
  {
    name: 'mistyped',
    share: 10,
    counts: 'result_type_mismatch',
    outcome: 'result_type_mismatch',
    code: 'def compute(data):\n    return "text"\n',
    asked: false,
  },
  { name: 'spins', share: 5, counts: 'timeout', outcome: 'timeout', code: SPIN, asked: false },
  { name: 'unanswered', share: 5, counts: null, outcome: 'model_failed', code: '', asked: true },
];

/** What the scripted model of a soak answers: the kind stands in the instruction. */
export function soakAnswer({ user }: ScriptedRequest): ScriptedAnswer {
  const kind = KINDS.find(({ name, asked }) => asked && user.includes(`kind ${name}`));
  return kind === undefined || kind.code === '' ? { status: 404 } : kind.code;
}

/** What the service's process holds: resident bytes and open descriptors. */
export interface Held {
  readonly rssBytes: number;
  readonly descriptors: number;
}

export function heldBy(pid: number): Held {
  const rss = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { rssBytes: Number(rss) * 1024, descriptors: readdirSync(`/proc/${pid}/fd`).length };
}

/** How many steps came to what, by the kind's outcome in the ledger and by its name in the metrics. */
export interface Tally {
  readonly counted: Readonly<Record<string, number>>;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Answers that were not what their kind comes to. */
  readonly surprises: readonly string[];
}

/** Takes `steps` mixed steps, `concurrency` at a time, in a fixed order. */
export async function soak(service: BuiltService, steps: number, concurrency = 4): Promise<Tally> {
  const counted: Record<string, number> = {};
  const outcomes: Record<string, number> = {};
  const surprises: string[] = [];
  let next = 0;
  async function worker(): Promise<void> {
    while (next < steps) {
      const kind = kindAt(next);
      next += 1;
      const answer = await take(service, kind);
      outcomes[kind.outcome] = (outcomes[kind.outcome] ?? 0) + 1;
      if (kind.counts !== null) counted[kind.counts] = (counted[kind.counts] ?? 0) + 1;
      const came = cameTo(answer);
      if (came !== kind.outcome) surprises.push(`${kind.name}: ${answer.status} ${came}`);
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker));
  return { counted, outcomes, surprises };
}

function kindAt(index: number): Kind {
  // 37 and 100 have no common divisor: a hundred steps hold each kind by its share, well mixed.
  let place = (index * 37) % 100;
  for (const kind of KINDS) {
    if (place < kind.share) return kind;
    place -= kind.share;
  }
  throw new Error('the shares do not add up to 100');
}

function take(service: BuiltService, kind: Kind): Promise<HttpAnswer> {
  const sources = [{ name: 'x', result: [1, 2, 3] }];
  return kind.asked
    ? service.post('/v1/compute', { step: `kind ${kind.name}`, result_type: 'number', sources })
    : service.post('/v1/compute/run', {
        code: kind.code,
        result_type: 'number',
        sources,
        ...(kind.code === SPIN ? { limits: { wall_seconds: 0.2 } } : {}),
      });
}

function cameTo({ status, json }: HttpAnswer): string {
  if (status !== 200) return json.code;
  return json.failure?.code ?? json.state;
}

/** The samples of a counter by one label, zeros left out. */
export function counterBy(metrics: string, name: string, label: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [, labels = '', value] of metrics.matchAll(new RegExp(`^${name}\\{([^}]*)\\} (\\d+)$`, 'gm'))) {
    const key = new RegExp(`${label}="([^"]*)"`).exec(labels)?.[1] ?? '';
    if (Number(value) > 0) found[key] = (found[key] ?? 0) + Number(value);
  }
  return found;
}
