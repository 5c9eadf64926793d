// JSON schema and columns of contexts.

import type { StoredContext } from '../../connect/stored-contexts.ts';
import { boolean, id, object, oneOf, optional, text, type ValueOf } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';

export const CONTEXT = object('Context', {
  name: text('name of the context'),
  current: boolean('whether commands use it by default'),
  server: text("address of the hub's internal port"),
  authentication: oneOf(['token', 'certificate', 'none'], 'how hubctl authenticates to the hub'),
  tokenId: optional(id('tok', 'the token, which itself is never shown')),
  ca: optional(text("PEM file: CA of the hub's certificate")),
  clientCert: optional(text('PEM file: client certificate used instead of a token')),
  clientKey: optional(text('PEM file: key of the client certificate')),
});
export type ContextView = ValueOf<typeof CONTEXT>;

export function contextView(name: string, current: boolean, context: StoredContext): ContextView {
  const { server, token, ca, clientCert, clientKey } = context;
  const [, tokenId] = /^hub_([0-9a-z]{26})_/.exec(token ?? '') ?? [];
  return {
    name,
    current,
    server,
    authentication: clientCert !== undefined ? 'certificate' : token !== undefined ? 'token' : 'none',
    ...(tokenId !== undefined && { tokenId: `tok_${tokenId}` }),
    ...(ca !== undefined && { ca }),
    ...(clientCert !== undefined && { clientCert }),
    ...(clientKey !== undefined && { clientKey }),
  };
}

export const CONTEXT_COLUMNS: readonly Column<ContextView>[] = [
  { title: '', cell: (item) => (item.current ? '*' : ' ') },
  { title: 'CONTEXT', cell: (item) => item.name },
  { title: 'SERVER', cell: (item) => item.server },
  { title: 'SHOWS', cell: shown },
];

export const CONTEXT_FIELDS: readonly Column<ContextView>[] = [
  { title: 'Context', cell: (item) => item.name },
  { title: 'In use', cell: (item) => (item.current ? 'yes' : 'no') },
  { title: 'Server', cell: (item) => item.server },
  { title: 'Shows', cell: shown },
  { title: 'CA', cell: (item) => item.ca },
  { title: 'Certificate', cell: (item) => item.clientCert },
  { title: 'Its key', cell: (item) => item.clientKey },
];

function shown({ authentication, tokenId }: ContextView): string {
  if (authentication === 'none') return 'nothing';
  return authentication === 'token'
    ? `a token${tokenId === undefined ? '' : `, ${tokenId}`}`
    : 'a certificate';
}
