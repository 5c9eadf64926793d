// JSON schemas and columns of audit log entries and of a verification of their chain.
import type {
  AuditEntry,
  LinkedAuditEntry,
  VerifyAuditLogResponse,
} from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { ACTOR_KINDS, nameOf } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import {
  boolean,
  facts,
  id,
  integer,
  nullable,
  object,
  oneOf,
  optional,
  text,
  time,
  type ValueOf,
  withDescription,
} from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';

export type ActorKindName = keyof typeof ACTOR_KINDS;
const ACTOR_KIND_NAMES = Object.keys(ACTOR_KINDS) as ActorKindName[]; // the keys above

export const AUDIT_ENTRY = object(
  'AuditEntry',
  {
    auditEntryId: id('aud'),
    at: time(),
    actor: text(),
    action: text(),
    subject: text(),
    before: nullable(facts(), 'the changed values before; null if there were none'),
    after: nullable(facts(), 'the values after the change; null if the object is gone'),
    detail: facts(),
    requestId: optional(text()),
    actorKind: optional(
      oneOf(
        ACTOR_KIND_NAMES,
        'a token, a certificate that replaces one, the hub itself or a command without a hub; missing for entries from before kinds were recorded',
      ),
    ),
    actorTokenId: optional(id('tok')),
    actorCertificateSubject: optional(text()),
  },
  { message: 'hub.access.v1.AuditEntry' },
);
export type AuditEntryView = ValueOf<typeof AUDIT_ENTRY>;

export const LINKED_AUDIT_ENTRY = object(
  'LinkedAuditEntry',
  { seq: integer(), ...AUDIT_ENTRY.properties, linkedAt: time(), previousHash: text(), hash: text() },
  { message: 'hub.access.v1.LinkedAuditEntry', without: ['entry'] },
);
export type LinkedEntryView = ValueOf<typeof LINKED_AUDIT_ENTRY>;

export const AUDIT_BREAK = object(
  'AuditBreak',
  {
    problem: text(),
    seq: optional(integer('number of the link; missing if the row has none')),
    auditEntryId: optional(id('aud', 'the row; missing if unknown')),
    detail: text(),
  },
  { message: 'hub.access.v1.AuditBreak' },
);

export const AUDIT_CHAIN = object(
  'AuditChain',
  {
    ok: boolean(),
    head: text(),
    entries: integer(),
    beginsAfter: optional(integer('number of the link that it begins after; missing for the first chain')),
    unlinked: integer(),
    unlinkedSince: optional(time()),
    broken: optional(withDescription(AUDIT_BREAK, 'the first row that breaks it; missing if it is intact')),
  },
  { message: 'hub.access.v1.VerifyAuditLogResponse' },
);
export type AuditChainView = ValueOf<typeof AUDIT_CHAIN>;

export function auditChainView(reply: VerifyAuditLogResponse): AuditChainView {
  const { ok, head, entries, beginsAfter, unlinked, unlinkedSince, broken } = reply;
  return {
    ok,
    head,
    entries: Number(entries),
    ...(beginsAfter > 0n && { beginsAfter: Number(beginsAfter) }),
    unlinked: Number(unlinked),
    ...(unlinkedSince && { unlinkedSince: rfc3339(unlinkedSince) }),
    ...(broken && {
      broken: {
        problem: broken.problem,
        ...(broken.seq !== undefined && { seq: Number(broken.seq) }),
        ...(broken.auditEntryId !== '' && { auditEntryId: broken.auditEntryId }),
        detail: broken.detail,
      },
    }),
  };
}

export const AUDIT_CHAIN_FIELDS: readonly Column<AuditChainView>[] = [
  { title: 'Chain', cell: (item) => (item.ok ? 'holds' : 'is broken') },
  { title: 'Entries', cell: (item) => item.entries },
  { title: 'Head', cell: (item) => item.head },
  { title: 'Begins after link', cell: (item) => item.beginsAfter },
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

export function auditEntryView(entry: AuditEntry): AuditEntryView {
  return {
    auditEntryId: entry.auditEntryId,
    at: rfc3339(requireField(entry.at, 'time of the change')),
    actor: entry.actor,
    action: entry.action,
    subject: entry.subject,
    before: entry.before ?? null,
    after: entry.after ?? null,
    detail: entry.detail ?? {},
    ...(entry.requestId !== '' && { requestId: entry.requestId }),
    ...actorView(entry),
  };
}

function actorView({ actorKind, actorTokenId, actorCertificateSubject }: AuditEntry) {
  const kind = nameOf(ACTOR_KINDS, actorKind);
  return {
    ...(kind !== undefined && { actorKind: kind }),
    ...(actorTokenId !== '' && { actorTokenId }),
    ...(actorCertificateSubject !== '' && { actorCertificateSubject }),
  };
}

export function linkedEntryView({
  entry,
  seq,
  linkedAt,
  previousHash,
  hash,
}: LinkedAuditEntry): LinkedEntryView {
  return {
    seq: Number(seq),
    ...auditEntryView(requireField(entry, 'entry')),
    linkedAt: rfc3339(requireField(linkedAt, 'time of the link')),
    previousHash,
    hash,
  };
}

export const AUDIT_COLUMNS: readonly Column<AuditEntryView>[] = [
  { title: 'ENTRY', cell: (entry) => entry.auditEntryId },
  { title: 'AT', cell: (entry) => shortTime(entry.at) },
  { title: 'ACTOR', cell: (entry) => entry.actor },
  { title: 'KIND', cell: (entry) => entry.actorKind },
  { title: 'TOKEN', cell: (entry) => entry.actorTokenId },
  { title: 'ACTION', cell: (entry) => entry.action },
  { title: 'SUBJECT', cell: (entry) => entry.subject },
  { title: 'BEFORE', cell: (entry) => factsText(entry.before) },
  { title: 'AFTER', cell: (entry) => factsText(entry.after) },
];

/** Formats details as `state=revoked reason="not paid"`; empty without details. */
function factsText(facts: object | null): string | undefined {
  if (facts === null) return undefined;
  return Object.entries(facts)
    .map(([name, value]) => `${name}=${/^[\w.:-]+$/.test(String(value)) ? value : JSON.stringify(value)}`)
    .join(' ');
}
