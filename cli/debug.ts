// What --debug tells on standard error: calls with their times and request ids, stacks. Never a secret.

import { printable, printableJson } from './printable.ts';
import type { Streams } from './tools.ts';

export type Debug = {
  readonly on: boolean;
  /** Tells facts in a line: `call: ListApps ms=12 code=ok`; in JSON as an object with the member `debug`. */
  tell(what: string, facts: Readonly<Record<string, string | number | undefined>>): void;
  /** The stack of an error and of what caused it. */
  stackOf(error: unknown): string;
};

/** @param secrets What must not be shown, as far as it is known by then. */
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
