// The audit log: who changed what, newest first.

import { ActorKind, type AuditEntry } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { ShortId } from '../components/ids.tsx';
import { ListPage, timeFilter } from '../components/list-page.tsx';
import { Table } from '../components/table.tsx';
import { useSignedIn } from '../sign-in-state.ts';

/** Shows the kind of the actor, which the hub determines, beside its name. */
const KINDS = [
  ['', 'all'],
  [String(ActorKind.TOKEN), 'token'],
  [String(ActorKind.CERTIFICATE), 'certificate'],
  [String(ActorKind.HUB), 'the hub itself'],
  [String(ActorKind.LOCAL), 'command'],
] as const;

export function AuditView() {
  const { hub } = useSignedIn();
  return (
    <ListPage
      title="Audit log"
      everyMs={10_000}
      filters={[
        { name: 'subject', label: 'About', placeholder: 'id' },
        { name: 'actor', label: 'By', placeholder: 'name of a token' },
        { name: 'token', label: 'Token', placeholder: 'tok_…' },
        { name: 'kind', label: 'Kind', choices: KINDS },
        { name: 'action', label: 'Action', placeholder: 'license.revoke' },
        timeFilter('When', '7'),
      ]}
      load={({ query: { subject, actor, kind, token, action }, pageToken, from }, options) => {
        const actorKind = Object.values(ActorKind).find((number) => number > 0 && String(number) === kind);
        const filter = omitEmpty({ subject, actor, actorKind, actorTokenId: token, action, since: from });
        return hub.audit.listAuditEntries({ ...filter, pageToken }, options);
      }}
    >
      {({ entries }) => (
        <Table
          caption="Changes"
          rows={entries}
          keyOf={({ auditEntryId }) => auditEntryId}
          empty="No change matches. Filters must match exactly."
          columns={[
            { title: 'When', cell: ({ at }) => at },
            { title: 'Action', cell: (entry) => <code>{entry.action}</code> },
            { title: 'About', cell: (entry) => <ShortId id={entry.subject} /> },
            { title: 'By', cell: (entry) => <Actor entry={entry} /> },
            { title: 'Change', kind: 'long', wide: true, cell: (entry) => <Change entry={entry} /> },
          ]}
        />
      )}
    </ListPage>
  );
}

function Actor({ entry }: { readonly entry: AuditEntry }) {
  const { actor, actorKind, actorTokenId, actorCertificateSubject } = entry;
  const kind = KINDS.find(([number]) => number === String(actorKind))?.[1];
  return (
    <>
      {actor} {kind && <span class="muted">{kind}</span>}{' '}
      {actorTokenId !== '' && <ShortId id={actorTokenId} />}
      {actorCertificateSubject !== '' && <code>{actorCertificateSubject}</code>}
    </>
  );
}

function Change({ entry }: { readonly entry: AuditEntry }) {
  const { before, after, detail, requestId } = entry;
  const parts = Object.entries({ before, after, detail }).filter(
    ([, value]) => Object.keys(value ?? {}).length > 0,
  );
  const names = new Set(parts.flatMap(([, value]) => Object.keys(value ?? {})));
  if (names.size === 0 && requestId === '') return null;
  return (
    <details>
      <summary>{[...names].slice(0, 5).join(', ') || 'request'}</summary>
      {parts.map(([name, value]) => (
        <pre key={name}>
          {name} {JSON.stringify(value, null, 2)}
        </pre>
      ))}
      {requestId !== '' && <p class="muted">Request {requestId} in the log of the hub</p>}
    </details>
  );
}
