import type { SyntaxNode } from './syntax-tree.ts';

/** A node while the tree is being built. */
export type GrowingNode = { -readonly [K in keyof SyntaxNode]: SyntaxNode[K] } & { children: SyntaxNode[] };

/** Operators that bind closer than the star before their first operand. */
const CLOSER = new Set(['attribute', 'subscript', 'call', 'binary_operator']);

/**
 * The grammar reads `[*a.b]` as `(*a).b`, CPython as `*(a.b)`. Lifts each star to where CPython has it, so that
 * rules see `a.b` as the attribute that it is.
 */
export function liftSplats(splats: readonly GrowingNode[], text: string): void {
  for (const splat of splats) {
    for (;;) {
      const parent = splat.parent as GrowingNode | null;
      const grand = (parent?.parent ?? null) as GrowingNode | null;
      const inner = splat.children[1] as GrowingNode | undefined;
      if (parent === null || grand === null || inner === undefined) break;
      if (!CLOSER.has(parent.type) || parent.children[0] !== splat) break;
      grand.children[grand.children.indexOf(parent)] = splat;
      parent.children[0] = inner;
      splat.children[1] = parent;
      inner.field = splat.field;
      inner.parent = parent;
      splat.field = parent.field;
      splat.parent = grand;
      parent.field = null;
      parent.parent = splat;
      parent.start = inner.start;
      splat.end = parent.end;
      parent.text = text.slice(parent.start, parent.end);
      splat.text = text.slice(splat.start, splat.end);
    }
  }
}
