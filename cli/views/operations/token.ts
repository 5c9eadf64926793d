// JSON schemas and columns of service tokens.
import type { ServiceToken } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { ROLES } from '../../../lib/presentation/enum-names.ts';
import { type Column, columnsOf, pick } from '../../output/table.ts';
import { shortTime } from '../cells.ts';
import * as json from '../schema.ts';

export const TOKEN = json.view('Token', 'hub.access.v1.ServiceToken', {
  tokenId: json.id('tok'),
  name: json.text(),
  role: json.word(ROLES),
  apps: json.list(json.text()),
  slots: json.list(json.text()),
  certificateSubject: json.optional(json.text('subject of the certificate that replaces the token')),
  createdAt: json.time(),
  expiresAt: json.optional(json.time('when it expires')),
  revokedAt: json.optional(json.time('when it was revoked')),
  lastUsedAt: json.optional(json.time('when it was last used, accurate to a minute')),
});
export type TokenView = json.ValueOf<typeof TOKEN>;

export const CREATED_TOKEN = json.view(
  'CreatedToken',
  { message: 'hub.access.v1.CreateTokenResponse', without: ['serviceToken'] },
  {
    ...TOKEN.properties,
    token: json.optional(json.text('the token, shown only once; missing if a certificate replaces it')),
  },
);
export type CreatedTokenView = json.ValueOf<typeof CREATED_TOKEN>;

export const tokenView = json.viewer(TOKEN);

/** `token` is empty if a certificate replaces it. */
export function createdTokenView(serviceToken: ServiceToken | undefined, token: string): CreatedTokenView {
  const { tokenId, ...rest } = tokenView(serviceToken);
  return { tokenId, ...(token !== '' && { token }), ...rest };
}

export const TOKEN_FIELDS: readonly Column<TokenView>[] = [
  ...columnsOf(TOKEN, { tokenId: 'Token id' }, 'name', 'role'),
  { title: 'Scope', cell: scopeText },
  ...columnsOf(TOKEN, { certificateSubject: 'Certificate' }, 'createdAt'),
  { title: 'Expires', cell: (item) => shortTime(item.expiresAt) ?? 'never' },
  ...columnsOf(TOKEN, 'revokedAt', 'lastUsedAt'),
];

export const TOKEN_COLUMNS: readonly Column<TokenView>[] = [
  { title: 'Token', cell: (item) => item.tokenId },
  ...pick(TOKEN_FIELDS, 'Name', 'Role', 'Scope', 'Created'),
  { title: 'Expires', cell: (item) => shortTime(item.expiresAt) },
  ...pick(TOKEN_FIELDS, 'Revoked', 'Last used', 'Certificate'),
];

export const CREATED_TOKEN_FIELDS: readonly Column<CreatedTokenView>[] = [
  { title: 'Token', cell: (item) => item.token },
  ...TOKEN_FIELDS,
];

/** Formats a scope: `app:photo-lab slot:main`, or `everything`. */
export function scopeText({ apps, slots }: Pick<TokenView, 'apps' | 'slots'>): string {
  const parts = [...apps.map((slug) => `app:${slug}`), ...slots.map((name) => `slot:${name}`)];
  return parts.join(' ') || 'everything';
}
