import type { RuleId } from '../../contract/admission.ts';
import type { JudgedSource } from '../judged-source.ts';
import type { SyntaxNode } from '../syntax-tree.ts';

/** What the docs say of a rule; `hint` is also the default answer to what to write instead. */
export interface RuleText {
  readonly id: RuleId;
  /** Unique: the heading in the docs. */
  readonly title: string;
  /** Why the rule is there. */
  readonly reason: string;
  readonly hint: string;
}

/** Refuses at an offset of the text; `name` is what was met there. */
export type RefuseText = (offset: number, name: string, message: string, hint?: string) => void;

/** A rule about characters, asked before anything is parsed. */
export interface TextRule extends RuleText {
  readonly check: (text: string, refuse: RefuseText) => void;
}

/** Refuses at a node; `name` is what was met there. */
export type Refuse = (at: SyntaxNode, name: string, message: string, hint?: string) => void;

/** A rule about the parsed source. It is shown every node whose type is in `on`; `'*'` is every node. */
export interface Rule extends RuleText {
  readonly on: readonly string[];
  readonly visit: (node: SyntaxNode, judged: JudgedSource, refuse: Refuse) => void;
}
