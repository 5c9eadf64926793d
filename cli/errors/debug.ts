// The debug output on standard error: calls with durations and request ids, and stack traces. Never a secret.

import { printable, printableJson } from '../output/printable.ts';
import type { Streams } from '../streams.ts';

export type Debug = {
  readonly on: boolean;
  /** Writes a line: `call: ListApps ms=12 code=ok`; in JSON an object with the member `debug`. */
  tell(what: string, facts: Readonly<Record<string, string | number | undefined>>): void;
  /** The stack trace of an error and of its causes. */
  stackOf(error: unknown): string;
};

/** @param secrets Values to mask. */
export function createDebug(
  { stderr }: Pick<Streams, 'stderr'>,
  { on, json, secrets }: { on: boolean; json: boolean; secrets: () => readonly string[] },
): Debug {
  const masked = (text: string) => secrets().reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
  return {
    on,
    tell(what, facts) {
      if (!on) return;
      const pairs = Object.entries(facts).filter(([, value]) => value !== undefined);
      const line = json
        ? printableJson({ debug: { what, ...Object.fromEntries(pairs) } })
        : printable(`debug: ${what} ${pairs.map(([name, value]) => `${name}=${value}`).join(' ')}`);
      stderr.write(`${masked(line)}\n`);
    },
    stackOf: (error) => masked(stacks(error).join('\ncaused by: ')),
  };
}

function stacks(error: unknown): string[] {
  if (!(error instanceof Error)) return error === undefined ? [] : [String(error)];
  return [error.stack ?? error.message, ...stacks(error.cause)];
}
