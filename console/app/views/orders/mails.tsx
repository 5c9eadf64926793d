// Mails about orders, newest first.

import type { Mail } from '../../../../gen/hub/mail/v1/mail_pb.ts';
import { MAIL_KINDS, MAIL_STATES, numberOf, wordFor } from '../../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../../lib/presentation/omit-empty.ts';
import { Confirm } from '../../components/confirm.tsx';
import { choicesWithAny } from '../../components/filters.tsx';
import { ShortId } from '../../components/ids.tsx';
import { ListPage } from '../../components/list-page.tsx';
import { scopeFilter, useApps } from '../../components/scope-filters.ts';
import { StateBadge } from '../../components/state-badges.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { useSignedIn } from '../../sign-in-state.ts';

export function MailsView() {
  const { hub, may } = useSignedIn();
  const apps = useApps();
  return (
    <ListPage
      title="Mails"
      everyMs={10_000}
      filters={[
        { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(MAIL_STATES)) },
        scopeFilter('app', 'App', apps),
        { name: 'order', label: 'Order', placeholder: 'ord_… or chs_…' },
      ]}
      load={({ query: { state = '', app, order }, pageToken }, options) => {
        const filter = omitEmpty({ app, order });
        return hub.mails.listMails({ state: numberOf(MAIL_STATES, state), ...filter, pageToken }, options);
      }}
    >
      {({ mails }) => (
        <Table
          caption="Mails"
          rows={mails}
          keyOf={({ mailId }) => mailId}
          empty="There is no such mail. The hub writes mails if it is set up to send them."
          columns={may('mails.resendMail') ? [...COLUMNS, RESEND] : COLUMNS}
        />
      )}
    </ListPage>
  );
}

const COLUMNS: readonly Column<Mail>[] = [
  { title: 'Written', cell: ({ createdAt }) => createdAt },
  { title: 'State', cell: ({ state }) => <StateBadge of={MAIL_STATES} state={state} /> },
  { title: 'Order', cell: ({ orderId }) => <ShortId id={orderId} /> },
  { title: 'About', cell: ({ kind }) => wordFor(MAIL_KINDS, kind) },
  { title: 'Attempts', kind: 'number', cell: ({ attempts }) => attempts },
  { title: 'Sent', cell: ({ sentAt }) => sentAt },
  { title: 'Next attempt', wide: true, cell: ({ nextAttemptAt }) => nextAttemptAt },
  {
    title: 'Problem',
    kind: 'long',
    wide: true,
    cell: ({ problem, smtpResponse }) => [problem, smtpResponse].filter(Boolean).join(': '),
  },
];

const RESEND: Column<Mail> = { title: 'Again', cell: (mail) => <Resend mail={mail} /> };

function Resend({ mail: { mailId, orderId } }: { readonly mail: Mail }) {
  const { hub } = useSignedIn();
  const run = async (): Promise<string> => {
    await hub.mails.resendMail({ mailId });
    return 'The hub sends the mail again.';
  };
  return (
    <Confirm action="Send again" question="Send this mail again?" run={run}>
      <p class="value">
        The hub composes the mail of order <ShortId id={orderId} /> anew and sends it at once, to the present
        address of the customer.
      </p>
      <p>If that fails, the hub tries again.</p>
    </Confirm>
  );
}
