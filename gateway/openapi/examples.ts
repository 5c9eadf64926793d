// Examples of requests and responses per operation, recorded from a running hub.
import { readFileSync } from 'node:fs';

export type Example = {
  readonly parameters?: { readonly [name: string]: string };
  readonly body?: object;
  readonly response?: unknown;
};

export const EXAMPLES: { readonly [operationId: string]: Example } = JSON.parse(
  readFileSync(new URL('examples.json', import.meta.url), 'utf8'),
);
