// Records the names of the prepared statements that the hub sends to PostgreSQL.
import pg from 'pg';
import { oneLine } from '../explain-log.ts';

export type StatementNames = {
  /** The name of each prepared statement by its text, with single spaces. */
  readonly byText: ReadonlyMap<string, string>;
  stop(): void;
};

/** Covers all hubs in this process. */
export function noteStatementNames(): StatementNames {
  const byText = new Map<string, string>();
  const original = pg.Client.prototype.query;
  const noting = function (this: pg.Client, ...args: unknown[]): unknown {
    const [statement] = args;
    if (typeof statement === 'object' && statement !== null && 'name' in statement && 'text' in statement) {
      if (typeof statement.name === 'string') byText.set(oneLine(String(statement.text)), statement.name);
    }
    return Reflect.apply(original, this, args);
  };
  pg.Client.prototype.query = noting as typeof original; // passes every call on
  return {
    byText,
    stop() {
      pg.Client.prototype.query = original;
    },
  };
}
