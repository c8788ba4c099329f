import type { JudgedSource } from '../judged-source.ts';
import type { SyntaxNode } from '../syntax-tree.ts';
import type { Flowing } from './flowing.ts';

/** What the parts of the analysis ask of each other. */
export interface Flow {
  readonly judged: JudgedSource;
  /** The definition of `compute`. */
  readonly compute: SyntaxNode;
  /** What its argument holds. */
  readonly data: Flowing;
  /** What an expression surely holds of the data, or null. */
  of(expression: SyntaxNode): Flowing | null;
}
