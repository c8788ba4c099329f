import type { SyntaxNode } from './syntax-tree.ts';

export type ScopeKind = 'module' | 'function' | 'class' | 'comprehension';

/** How a name comes to be bound. `declare` is an annotation without a value: local from then on, but unbound. */
export type BindingKind =
  | 'assign'
  | 'declare'
  | 'augment'
  | 'for'
  | 'with'
  | 'except'
  | 'walrus'
  | 'capture'
  | 'parameter'
  | 'def'
  | 'class'
  | 'import'
  | 'delete'
  | 'nonlocal';

/** What an import binds: a module (`name` null) or one member of it. */
export interface Imported {
  readonly module: string;
  readonly name: string | null;
}

/** One place that binds a name. */
export interface Binding {
  readonly kind: BindingKind;
  readonly node: SyntaxNode;
  readonly name: string;
  readonly scope: Scope;
  /** The expression bound, where a plain name takes it whole; the definition for `def` and `class`. */
  readonly value: SyntaxNode | null;
  readonly imported: Imported | null;
}

/** One place that loads a name. */
export interface Load {
  readonly node: SyntaxNode;
  readonly name: string;
  readonly scope: Scope;
}

/** A name of one scope with every place that binds it, those of `nonlocal` scopes included. */
export interface ScopedName {
  readonly name: string;
  readonly scope: Scope;
  readonly bindings: readonly Binding[];
}

/** A store into or a delete of `object.attribute`. */
export interface AttributeStore {
  readonly node: SyntaxNode;
  readonly kind: BindingKind;
}

/** What a load may find: the names it can reach, in order, and whether it can fall through to a builtin. */
export interface Candidates {
  readonly names: readonly ScopedName[];
  readonly builtin: boolean;
}

/** A Python scope. Lambdas are functions; generator expressions are comprehensions. */
export class Scope {
  readonly kind: ScopeKind;
  readonly node: SyntaxNode;
  readonly parent: Scope | null;
  readonly nonlocals = new Set<string>();
  readonly names = new Map<string, { name: string; scope: Scope; bindings: Binding[] }>();

  constructor(kind: ScopeKind, node: SyntaxNode, parent: Scope | null) {
    this.kind = kind;
    this.node = node;
    this.parent = parent;
  }

  /** Adds a binding of this scope's own. */
  bind(binding: Binding): void {
    const known = this.names.get(binding.name);
    if (known) known.bindings.push(binding);
    else this.names.set(binding.name, { name: binding.name, scope: this, bindings: [binding] });
  }

  /** The scope of an enclosing function that `nonlocal name` means, or null (CPython refuses to compile it). */
  nonlocalOwner(name: string): Scope | null {
    for (let at = this.parent; at !== null; at = at.parent) {
      if (at.kind === 'function' && at.names.has(name) && !at.nonlocals.has(name)) return at;
    }
    return null;
  }

  /**
   * What a load of `name` in this scope may find. A function's own name hides everything. A class body and the
   * module look further at run time while the name is unbound, so all that they may find is answered.
   */
  candidates(name: string): Candidates {
    const found: ScopedName[] = [];
    for (let at: Scope | null = this; at !== null; at = at.parent) {
      // The names of a class body are seen by the body itself only, not by functions in it.
      if (at.kind === 'class' && at !== this) continue;
      const owner = at.nonlocals.has(name) ? at.nonlocalOwner(name) : at;
      const scoped = owner?.names.get(name);
      if (scoped === undefined) continue;
      found.push(scoped);
      if (scoped.scope.kind === 'function' || scoped.scope.kind === 'comprehension') {
        return { names: found, builtin: false };
      }
    }
    return { names: found, builtin: true };
  }
}
