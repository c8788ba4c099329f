/** A Grafana dashboard as far as it asks Prometheus something. */
export interface Dashboard {
  readonly id: null;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly templating: { readonly list: readonly Variable[] };
  readonly panels: readonly Panel[];
}

export interface Variable {
  readonly type: string;
  readonly name: string;
  readonly definition?: string;
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
}

export interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly instant: boolean;
  readonly range: boolean;
}

/** One query of a panel. */
export interface PanelQuery {
  readonly panel: string;
  readonly expr: string;
  readonly instant: boolean;
}

export function queriesOf({ panels }: Dashboard): readonly PanelQuery[] {
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ refId, expr, instant }) => ({ panel: `${title}, ${refId}`, expr, instant })),
  );
}

/** Puts values in the place of `$name`, `${name}` and `${name:format}`, as Grafana does; an unknown name throws. */
export function interpolate(expr: string, values: Readonly<Record<string, string>>): string {
  return expr.replace(/\$(?:\{(\w+)(?::\w+)?\}|(\w+))/g, (_whole, braced?: string, bare?: string) => {
    const value = values[(braced ?? bare) as string];
    if (value === undefined) throw new Error(`${expr}: unknown variable ${braced ?? bare}`);
    return value;
  });
}

/** Metric names and selectors of an expression, without ranges: what must exist for it to say anything. */
export function selectorsOf(expr: string): readonly string[] {
  return [...expr.matchAll(/\b(?:up|(?:compute|process|nodejs)_\w+)\b(?:\{[^}]*\})?/g)].map(
    ([selector]) => selector,
  );
}
