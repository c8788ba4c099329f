import type { JsonObject } from '../../contract/result-type.ts';
import type { JudgedSource } from '../judged-source.ts';
import { childOf, partsOf, type SyntaxNode, unwrapped } from '../syntax-tree.ts';
import { boundValue } from './bound-values.ts';
import { callValue } from './call-values.ts';
import type { Flow } from './flow.ts';
import {
  areSame,
  elementOf,
  type Flowing,
  isEmptyLiteral,
  listOf,
  mapOf,
  memberAt,
  tupleOf,
} from './flowing.ts';
import { rootPlace } from './place.ts';

/**
 * How many names and calls one after another a value is followed through; past it nothing is sure, which also ends
 * the search for names that are bound to each other.
 */
const MAX_STEPS = 64;

/** Follows the argument of `compute` through the source. Every answer is kept, one a node at most. */
export class DataFlow implements Flow {
  readonly judged: JudgedSource;
  readonly compute: SyntaxNode;
  readonly data: Flowing;
  private readonly opened: ReadonlySet<JsonObject>;
  private readonly known = new Map<SyntaxNode, Flowing | null>();
  private steps = 0;

  /** `opened` are the places that the source may have changed: nothing is sure of them and what is below. */
  constructor(
    judged: JudgedSource,
    compute: SyntaxNode,
    shown: JsonObject,
    opened: ReadonlySet<JsonObject> = new Set(),
  ) {
    this.judged = judged;
    this.compute = compute;
    this.data = { kind: 'place', place: rootPlace(shown), weight: 1 };
    this.opened = opened;
  }

  of(expression: SyntaxNode): Flowing | null {
    const node = unwrapped(expression);
    const known = this.known.get(node);
    if (known !== undefined) return known;
    if (this.steps >= MAX_STEPS) return null;
    this.steps += 1;
    const found = this.unopened(this.worked(node));
    this.steps -= 1;
    this.known.set(node, found);
    return found;
  }

  private unopened(value: Flowing | null): Flowing | null {
    if (value === null) return null;
    if (value.kind === 'place') return this.opened.has(value.place.schema) ? null : value;
    if (value.kind === 'list') return listOf(this.unopened(value.element));
    if (value.kind === 'map') return mapOf(this.unopened(value.value));
    return tupleOf(value.items.map((item) => this.unopened(item)));
  }

  private worked(node: SyntaxNode): Flowing | null {
    const parts = partsOf(node);
    const [first, second, third] = parts;
    switch (node.type) {
      case 'identifier':
        return boundValue(node, this);
      case 'call':
        return callValue(node, this);
      case 'subscript':
        if (first === undefined || second === undefined || third !== undefined) return null;
        return memberAt(this.of(first), second, this.judged.source.text);
      case 'list_comprehension':
      case 'generator_expression':
        return first === undefined ? null : listOf(this.of(first));
      case 'dictionary_comprehension': {
        const value = first?.type === 'pair' ? childOf(first, 'value') : null;
        return value === null ? null : mapOf(this.of(value));
      }
      case 'list':
      case 'tuple':
      case 'expression_list': {
        const [only] = first?.type === 'list_splat' && second === undefined ? partsOf(first) : [];
        if (only !== undefined) return listOf(elementOf(this.of(only)));
        return parts.some(({ type }) => type === 'list_splat')
          ? null
          : tupleOf(parts.map((part) => this.of(part)));
      }
      case 'conditional_expression':
        return first === undefined || third === undefined ? null : this.either(first, third);
      case 'boolean_operator':
        if (first === undefined || second === undefined) return null;
        return node.children.some(({ type }) => type === 'or') ? this.either(first, second) : this.of(second);
      case 'named_expression':
        return second === undefined ? null : this.of(second);
      default:
        return null;
    }
  }

  /** One of two values, where both are of one place or one of them has no field at all. */
  private either(one: SyntaxNode, other: SyntaxNode): Flowing | null {
    if (isEmptyLiteral(one)) return this.of(other);
    if (isEmptyLiteral(other)) return this.of(one);
    const value = this.of(one);
    return areSame(value, this.of(other)) ? value : null;
  }
}
