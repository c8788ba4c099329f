import type { Compilable, CompiledQuery, Kysely, QueryResult } from 'kysely';
import type { LedgerTables } from './sql-schema.ts';

/** Executes a query with these values; in the transaction, if `db` is one. */
export type Statement<V, R> = (db: Kysely<LedgerTables>, values: V) => Promise<QueryResult<R>>;

/** Stands in a query that is made once, for a value that each execution gives. */
class Slot {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/**
 * A query whose SQL is made at its first use and kept: to build and compile one takes kysely longer than SQLite takes
 * to execute it. `build` is called once and gets stand-ins in place of the values, so it must not look at them. For
 * one dialect.
 */
export function statement<V extends object, R>(
  build: (db: Kysely<LedgerTables>, values: V) => Compilable<R>,
): Statement<V, R> {
  const slots = new Proxy({} as V, { get: (_, name) => new Slot(String(name)) });
  let made: CompiledQuery<R> | null = null;
  return (db, values) => {
    made ??= build(db, slots).compile();
    const parameters = made.parameters.map((given) =>
      given instanceof Slot ? values[given.name as keyof V] : given,
    );
    return db.executeQuery({ ...made, parameters });
  };
}
