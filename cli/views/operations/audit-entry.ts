// JSON schemas and columns of audit log entries and of a verification of their chain.
import type { AuditEntry, LinkedAuditEntry } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { ACTOR_KINDS, nameOf } from '../../../lib/presentation/enum-names.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';

export type ActorKindName = keyof typeof ACTOR_KINDS;
const ACTOR_KIND_NAMES = Object.keys(ACTOR_KINDS) as ActorKindName[]; // the keys above

export const AUDIT_ENTRY = json.view('AuditEntry', 'hub.access.v1.AuditEntry', {
  auditEntryId: json.id('aud'),
  at: json.time(),
  actor: json.text(),
  action: json.text(),
  subject: json.text(),
  before: json.nullable(json.facts(), 'the changed values before; null if there were none'),
  after: json.nullable(json.facts(), 'the values after the change; null if the object is gone'),
  detail: json.facts(),
  requestId: json.optional(json.text()),
  actorKind: json.optional(
    json.oneOf(
      ACTOR_KIND_NAMES,
      'a token, a certificate that replaces one, the hub itself or a command without a hub; missing for entries from before kinds were recorded',
    ),
  ),
  actorTokenId: json.optional(json.id('tok')),
  actorCertificateSubject: json.optional(json.text()),
});
export type AuditEntryView = json.ValueOf<typeof AUDIT_ENTRY>;

export const LINKED_AUDIT_ENTRY = json.view(
  'LinkedAuditEntry',
  { message: 'hub.access.v1.LinkedAuditEntry', without: ['entry'] },
  {
    seq: json.integer(),
    ...AUDIT_ENTRY.properties,
    linkedAt: json.time(),
    previousHash: json.text(),
    hash: json.text(),
  },
);
export type LinkedEntryView = json.ValueOf<typeof LINKED_AUDIT_ENTRY>;

export const AUDIT_BREAK = json.view('AuditBreak', 'hub.access.v1.AuditBreak', {
  problem: json.text(),
  seq: json.optional(json.integer('number of the link; missing if the row has none')),
  auditEntryId: json.optional(json.id('aud', 'the row; missing if unknown')),
  detail: json.text(),
});

export const AUDIT_CHAIN = json.view('AuditChain', 'hub.access.v1.VerifyAuditLogResponse', {
  ok: json.boolean(),
  head: json.text(),
  entries: json.integer(),
  beginsAfter: json.unlessZero(
    json.integer('number of the link that it begins after; missing for the first chain'),
  ),
  unlinked: json.integer(),
  unlinkedSince: json.optional(json.time()),
  broken: json.optional(
    json.withDescription(AUDIT_BREAK, 'the first row that breaks it; missing if it is intact'),
  ),
});
export type AuditChainView = json.ValueOf<typeof AUDIT_CHAIN>;

export const auditChainView = json.viewer(AUDIT_CHAIN);

export const AUDIT_CHAIN_FIELDS: readonly Column<AuditChainView>[] = [
  { title: 'Chain', cell: (item) => (item.ok ? 'holds' : 'is broken') },
  ...columnsOf(AUDIT_CHAIN, 'entries', 'head', { beginsAfter: 'Begins after link' }),
  {
    title: 'Without a link',
    cell: ({ unlinked, unlinkedSince }) =>
      unlinked === 0
        ? undefined
        : [unlinked, unlinkedSince && `since ${unlinkedSince}`].filter(Boolean).join(' '),
  },
  {
    title: 'Broken at',
    cell: ({ broken }) => broken && [broken.seq, broken.auditEntryId].filter(Boolean).join(' '),
  },
  { title: 'Problem', cell: ({ broken }) => broken?.problem },
  { title: 'Detail', cell: ({ broken }) => broken?.detail },
];

export const auditEntryView = (entry: AuditEntry | undefined): AuditEntryView =>
  json.viewOf(AUDIT_ENTRY, entry, {
    detail: entry?.detail ?? {},
    actorKind: nameOf(ACTOR_KINDS, entry?.actorKind ?? 0),
  });

export const linkedEntryView = ({ entry, ...link }: LinkedAuditEntry): LinkedEntryView =>
  json.viewOf(LINKED_AUDIT_ENTRY, link, auditEntryView(entry));

export const AUDIT_COLUMNS: readonly Column<AuditEntryView>[] = [
  ...columnsOf(AUDIT_ENTRY, { auditEntryId: 'Entry' }, 'at', 'actor', { actorKind: 'Kind' }),
  ...columnsOf(AUDIT_ENTRY, { actorTokenId: 'Token' }, 'action', 'subject'),
  { title: 'Before', cell: (entry) => factsText(entry.before) },
  { title: 'After', cell: (entry) => factsText(entry.after) },
];

/** Formats details as `state=revoked reason="not paid"`; empty without details. */
function factsText(facts: object | null): string | undefined {
  if (facts === null) return undefined;
  return Object.entries(facts)
    .map(([name, value]) => `${name}=${/^[\w.:-]+$/.test(String(value)) ? value : JSON.stringify(value)}`)
    .join(' ');
}
