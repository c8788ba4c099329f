import { createHash } from 'node:crypto';
import type { AdmissionRefusal, RuleId } from '../contract/admission.ts';
import type { JsonObject } from '../contract/result-type.ts';
import type { Draft } from '../model/reply.ts';
import { JudgedSource } from './judged-source.ts';
import { type AdmittedModules, admittedModules, type ModuleTable } from './modules.ts';
import { createPythonParser, type PythonParser } from './parse.ts';
import { refusalAt } from './refusal.ts';
import { PARSE_FAULTS, parseFaults } from './rules/parse-faults.ts';
import type { Refuse, Rule, RuleText } from './rules/rule.ts';
import { TEXT_RULES, TREE_RULES } from './rules/rule-table.ts';
import { schemaKeys } from './schema-keys/schema-keys.ts';
import { canonicalSource, type SourceText } from './source-text.ts';
import type { SyntaxNode } from './syntax-tree.ts';

declare const admittedBrand: unique symbol;

/**
 * A function that every rule admitted, in its canonical form: LF line ends, one newline at the end. These bytes
 * were judged, and these are to be run. Only `Admission.admit` makes one.
 */
export interface AdmittedFunction {
  readonly [admittedBrand]: true;
  readonly text: string;
  /** Hex SHA-256 of `bytes()`. */
  readonly sha256: string;
  readonly lineCount: number;
  /** The UTF-8 bytes; each call gives a copy of its own. */
  bytes(): Buffer;
}

/**
 * Judges functions by static analysis. Holds no state between two functions. `shown` is the schema of the prompt
 * that a model wrote the function for: its keys are held against it, once every other rule admits.
 */
export interface Admission {
  /** The function, ready to run, or its first refusal by line and column. */
  admit(draft: Draft, shown?: JsonObject | null): AdmittedFunction | AdmissionRefusal;
  /** Every refusal, sorted by line and column, at most MAX_REFUSALS; empty if the function is admitted. */
  all(draft: Draft, shown?: JsonObject | null): AdmissionRefusal[];
}

/** The most refusals of one source; the first ones are kept. */
export const MAX_REFUSALS = 200;

/** Whether an answer of `admit` is a refusal. */
export function isRefusal(verdict: AdmittedFunction | AdmissionRefusal): verdict is AdmissionRefusal {
  return 'admitted' in verdict;
}

/** Makes the judge for one module table. Loads the grammar, so make one a process and table. */
export async function createAdmission(table: ModuleTable): Promise<Admission> {
  const modules = admittedModules(table);
  const parser = await createPythonParser();
  return {
    admit(draft, shown = null) {
      const source = canonicalSource(draft.source);
      const [first] = judge(source, modules, parser, shown);
      return first ?? admitted(source);
    },
    all: (draft, shown = null) => judge(canonicalSource(draft.source), modules, parser, shown),
  };
}

function admitted({ text, lineStarts }: SourceText): AdmittedFunction {
  const sha256 = createHash('sha256').update(text, 'utf8').digest('hex');
  const bytes = () => Buffer.from(text, 'utf8');
  return Object.freeze({ text, sha256, lineCount: lineStarts.length, bytes }) as AdmittedFunction;
}

function judge(
  source: SourceText,
  modules: AdmittedModules,
  parser: PythonParser,
  shown: JsonObject | null,
): AdmissionRefusal[] {
  const found: Found[] = [];
  const refuser = (rule: RuleText, order: number) => {
    return (offset: number, name: string, message: string, hint?: string) => {
      found.push({ offset, order, id: rule.id, name, message, hint: hint ?? rule.hint });
    };
  };
  for (const [order, rule] of TEXT_RULES.entries()) rule.check(source.text, refuser(rule, order));
  if (found.length > 0) return refusals(source, found);
  const parsed = parser.parse(source.text);
  if (!parsed.ok) {
    return refusals(source, [
      { offset: parsed.offset, order: 0, id: parseFaults.id, ...PARSE_FAULTS[parsed.fault] },
    ]);
  }
  const judged = new JudgedSource(source, parsed.root, modules);
  const refuserAt = (rule: RuleText, order: number): Refuse => {
    const refuse = refuser(rule, order);
    return (at, name, message, hint) => refuse(at.start, name, message, hint);
  };
  visitTree(judged, refuserAt);
  if (found.length === 0 && shown !== null) schemaKeys.check(judged, shown, refuserAt(schemaKeys, 0));
  return refusals(source, found);
}

/** A refusal before its place is worked out. */
interface Found {
  readonly offset: number;
  /** The rule's place in its table. */
  readonly order: number;
  readonly id: RuleId;
  readonly name: string;
  readonly message: string;
  readonly hint: string;
}

/** In the order of the source, and at one place in the order of the rules. */
function refusals(source: SourceText, found: Found[]): AdmissionRefusal[] {
  const first = found.sort((a, b) => a.offset - b.offset || a.order - b.order).slice(0, MAX_REFUSALS);
  return first.map(({ offset, id, name, message, hint }) =>
    refusalAt(source, offset, id, name, message, hint),
  );
}

/** Shows every node to the rules that look at its type, without recursion. */
function visitTree(judged: JudgedSource, refuserOf: (rule: Rule, order: number) => Refuse): void {
  const everywhere: Visitor[] = [];
  const byType = new Map<string, Visitor[]>();
  for (const [order, rule] of TREE_RULES.entries()) {
    const refuse = refuserOf(rule, order);
    const visitor: Visitor = (node) => rule.visit(node, judged, refuse);
    for (const type of rule.on) {
      if (type === '*') everywhere.push(visitor);
      else byType.set(type, [...(byType.get(type) ?? []), visitor]);
    }
  }
  const waiting: SyntaxNode[] = [judged.root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    for (const visit of everywhere) visit(node);
    for (const visit of byType.get(node.type) ?? []) visit(node);
    for (const child of node.children) waiting.push(child);
  }
}

type Visitor = (node: SyntaxNode) => void;
