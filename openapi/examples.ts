// What an application and the hub say to each other, operation by operation: recorded, not made up.
import { readFileSync } from 'node:fs';

export type Example = {
  readonly parameters?: { readonly [name: string]: string };
  /** The body of the request. */
  readonly body?: object;
  /** That of the answer. */
  readonly answer?: unknown;
};

/** By the id of the operation. */
export const EXAMPLES: { readonly [operationId: string]: Example } = JSON.parse(
  readFileSync(new URL('examples.json', import.meta.url), 'utf8'),
);
