// The log of a hub: JSON lines, without what a database error quotes of the rows.
import { type DestinationStream, type Logger, pino } from 'pino';
import { traceFields } from '../tracing/active.ts';

export type LogOptions = {
  /** Its number stands in each line, where several processes write one log. */
  readonly worker?: number | undefined;
  /** Whether lines name the trace that they are part of. */
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
 * An error as it is logged. A database error's message quotes the values of the statement, so of those only what names
 * the place is kept: SQLSTATE, table, constraint and the stack's frames. A statement that is wrong in itself (class 42)
 * is told as it is: no values have a part in that.
 */
function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
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
