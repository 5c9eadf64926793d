// JSON schemas and columns of service tokens.
import type { ServiceToken } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { ROLES, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import { id, list, object, optional, text, time, type ValueOf, word } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';

export const TOKEN = object(
  'Token',
  {
    tokenId: id('tok'),
    name: text(),
    role: word(ROLES),
    apps: list(text()),
    slots: list(text()),
    certificateSubject: optional(text('subject of the certificate that replaces the token')),
    createdAt: time(),
    expiresAt: optional(time('when it expires')),
    revokedAt: optional(time('when it was revoked')),
    lastUsedAt: optional(time('when it was last used, accurate to a minute')),
  },
  { message: 'hub.access.v1.ServiceToken' },
);
export type TokenView = ValueOf<typeof TOKEN>;

export const CREATED_TOKEN = object(
  'CreatedToken',
  {
    ...TOKEN.properties,
    token: optional(text('the token, shown only once; missing if a certificate replaces it')),
  },
  { message: 'hub.access.v1.CreateTokenResponse', without: ['serviceToken'] },
);
export type CreatedTokenView = ValueOf<typeof CREATED_TOKEN>;

export function tokenView(token: ServiceToken): TokenView {
  return {
    tokenId: token.tokenId,
    name: token.name,
    role: wordFor(ROLES, token.role),
    apps: token.apps,
    slots: token.slots,
    ...(token.certificateSubject !== undefined && { certificateSubject: token.certificateSubject }),
    createdAt: rfc3339(requireField(token.createdAt, 'creation time')),
    ...(token.expiresAt && { expiresAt: rfc3339(token.expiresAt) }),
    ...(token.revokedAt && { revokedAt: rfc3339(token.revokedAt) }),
    ...(token.lastUsedAt && { lastUsedAt: rfc3339(token.lastUsedAt) }),
  };
}

/** `token` is empty if a certificate replaces it. */
export function createdTokenView(serviceToken: ServiceToken, token: string): CreatedTokenView {
  const { tokenId, ...rest } = tokenView(serviceToken);
  return { tokenId, ...(token !== '' && { token }), ...rest };
}

export const TOKEN_COLUMNS: readonly Column<TokenView>[] = [
  { title: 'TOKEN', cell: (item) => item.tokenId },
  { title: 'NAME', cell: (item) => item.name },
  { title: 'ROLE', cell: (item) => item.role },
  { title: 'SCOPE', cell: scopeText },
  { title: 'CREATED', cell: (item) => shortTime(item.createdAt) },
  { title: 'EXPIRES', cell: (item) => shortTime(item.expiresAt) },
  { title: 'REVOKED', cell: (item) => shortTime(item.revokedAt) },
  { title: 'LAST USED', cell: (item) => shortTime(item.lastUsedAt) },
  { title: 'CERTIFICATE', cell: (item) => item.certificateSubject },
];

export const TOKEN_FIELDS: readonly Column<TokenView>[] = [
  { title: 'Token id', cell: (item) => item.tokenId },
  { title: 'Name', cell: (item) => item.name },
  { title: 'Role', cell: (item) => item.role },
  { title: 'Scope', cell: scopeText },
  { title: 'Certificate', cell: (item) => item.certificateSubject },
  { title: 'Created', cell: (item) => shortTime(item.createdAt) },
  { title: 'Expires', cell: (item) => shortTime(item.expiresAt) ?? 'never' },
  { title: 'Revoked', cell: (item) => shortTime(item.revokedAt) },
  { title: 'Last used', cell: (item) => shortTime(item.lastUsedAt) },
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
