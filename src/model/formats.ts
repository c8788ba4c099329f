import { anthropicFormat } from './formats/anthropic.ts';
import { computeStepFormat } from './formats/compute-step.ts';
import type { Format } from './formats/format.ts';
import { openaiFormat } from './formats/openai.ts';
import type { ModelFormat } from './port.ts';

/** Every webhook format and how it is spoken. */
export const FORMATS: Readonly<Record<ModelFormat, Format>> = {
  'compute-step': computeStepFormat,
  openai: openaiFormat,
  anthropic: anthropicFormat,
};
