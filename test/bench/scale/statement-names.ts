// What the hub sends to PostgreSQL by name, noted while it is sent.
import pg from 'pg';
import { oneLine } from './explain-log.ts';

export type StatementNames = {
  /** The name of a prepared statement by its text, which has single spaces. */
  readonly byText: ReadonlyMap<string, string>;
  stop(): void;
};

/** Of all hubs in this process. */
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
  pg.Client.prototype.query = noting as typeof original; // hands everything on
  return {
    byText,
    stop() {
      pg.Client.prototype.query = original;
    },
  };
}
