// The log of a hub: JSON lines, without the row values that database errors quote.
import { type DestinationStream, type Logger, pino } from 'pino';
import { isObject } from '../../lib/json-object.ts';
import { traceFields } from '../../lib/tracing/spans.ts';

export type LogOptions = {
  /** The number in each line, if several processes write one log. */
  readonly worker?: number | undefined;
  /** Whether lines contain the id of their trace. */
  readonly traced?: boolean;
};

export function createLogger(
  level: string,
  stream: DestinationStream,
  { worker, traced = false }: LogOptions = {},
): Logger {
  const options = {
    level,
    base: worker === undefined ? null : { worker },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describe },
    ...(traced && { mixin: traceFields }),
  };
  return pino(options, stream);
}

/**
 * Serializes an error. The message of a database error quotes values of the statement, so only its location
 * is logged: SQLSTATE, table, constraint and stack frames. An error in the statement itself (class 42)
 * contains no values and is logged in full.
 */
function describe(error: unknown): object {
  if (!(error instanceof Error)) {
    // The job queue reports copies of errors.
    const isCopy = isObject(error) && typeof error['message'] === 'string';
    return isCopy ? describe(Object.assign(new Error(), error)) : { message: String(error) };
  }
  const sql = sqlFacts(error);
  if (sql === undefined) return pino.stdSerializers.err(error);
  const frames = error.stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return { type: error.name, ...sql, stack: frames.join('\n') };
}

function sqlFacts(error: Error): object | undefined {
  if (!('severity' in error) || !('code' in error)) return undefined;
  const { code, severity } = error;
  if (String(code).startsWith('42')) return undefined;
  const table = 'table' in error ? error.table : undefined;
  const constraint = 'constraint' in error ? error.constraint : undefined;
  return { sqlState: code, severity, table, constraint };
}
