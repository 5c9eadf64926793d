// JSON schema and columns of contexts.
import type { StoredContext } from '../../connect/stored-contexts.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import * as json from '../schema.ts';

export const CONTEXT = json.object('Context', {
  name: json.text('name of the context'),
  current: json.boolean('whether commands use it by default'),
  server: json.text("address of the hub's internal port"),
  authentication: json.oneOf(['token', 'certificate', 'none'], 'how hubctl authenticates to the hub'),
  tokenId: json.optional(json.id('tok', 'the token, which itself is never shown')),
  ca: json.optional(json.text("PEM file: CA of the hub's certificate")),
  clientCert: json.optional(json.text('PEM file: client certificate used instead of a token')),
  clientKey: json.optional(json.text('PEM file: key of the client certificate')),
});
export type ContextView = json.ValueOf<typeof CONTEXT>;

export function contextView(name: string, current: boolean, context: StoredContext): ContextView {
  const { server, token, ca, clientCert, clientKey } = context;
  const [, tokenId] = /^hub_([0-9a-z]{26})_/.exec(token ?? '') ?? [];
  const authentication = clientCert !== undefined ? 'certificate' : token !== undefined ? 'token' : 'none';
  const known = omitUndefined({ tokenId: tokenId && `tok_${tokenId}`, ca, clientCert, clientKey });
  return { name, current, server, authentication, ...known };
}

export const CONTEXT_FIELDS: readonly Column<ContextView>[] = [
  { title: 'Context', cell: (item) => item.name },
  { title: 'In use', cell: (item) => (item.current ? 'yes' : 'no') },
  { title: 'Server', cell: (item) => item.server },
  { title: 'Shows', cell: shown },
  ...columnsOf(CONTEXT, { ca: 'CA', clientCert: 'Certificate', clientKey: 'Its key' }),
];

export const CONTEXT_COLUMNS: readonly Column<ContextView>[] = [
  { title: '', cell: (item) => (item.current ? '*' : ' ') },
  ...pick(CONTEXT_FIELDS, 'Context', 'Server', 'Shows'),
];

function shown({ authentication, tokenId }: ContextView): string {
  if (authentication === 'none') return 'nothing';
  return authentication === 'token'
    ? `a token${tokenId === undefined ? '' : `, ${tokenId}`}`
    : 'a certificate';
}
