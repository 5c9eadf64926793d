// Mails about orders, newest first.

import type { Mail } from '../../../../gen/hub/mail/v1/mail_pb.ts';
import { MAIL_KINDS, MAIL_STATES, numberOf, wordFor } from '../../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../../lib/presentation/omit-empty.ts';
import { choicesWithAny } from '../../components/filters.tsx';
import { Moment, ShortId, StateBadge } from '../../components/inline.tsx';
import { ListPage } from '../../components/page.tsx';
import { scopeFilter, useApps } from '../../components/scope-filters.ts';
import { type Column, Table } from '../../components/table.tsx';
import { useList } from '../../list.ts';
import { mayResendMails, ResendMail } from '../../orders/resend-mail.tsx';
import { useSignedIn } from '../../signed-in.ts';

const EVERY_MS = 10_000;

export function MailsView() {
  const who = useSignedIn();
  const apps = useApps();
  const live = useList({
    everyMs: EVERY_MS,
    scope: [apps.chosen],
    load: ({ query: { state = '', order }, pageToken }, options) =>
      who.hub.mails.listMails(
        { state: numberOf(MAIL_STATES, state), ...omitEmpty({ app: apps.chosen, order }), pageToken },
        options,
      ),
  });
  return (
    <ListPage
      title="Mails"
      live={live}
      filters={[
        { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(MAIL_STATES)) },
        scopeFilter('app', 'App', apps),
        { name: 'order', label: 'Order', placeholder: 'ord_… or chs_…' },
      ]}
    >
      {({ mails }) => (
        <Table
          caption="Mails"
          rows={mails}
          keyOf={({ mailId }) => mailId}
          empty="There is no such mail. The hub writes mails if it is set up to send them."
          columns={mayResendMails(who) ? [...COLUMNS, RESEND] : COLUMNS}
        />
      )}
    </ListPage>
  );
}

const COLUMNS: readonly Column<Mail>[] = [
  { title: 'Written', cell: ({ createdAt }) => <Moment at={createdAt} /> },
  { title: 'State', cell: ({ state }) => <StateBadge of={MAIL_STATES} state={state} /> },
  { title: 'Order', cell: ({ orderId }) => <ShortId id={orderId} /> },
  { title: 'About', cell: ({ kind }) => wordFor(MAIL_KINDS, kind) },
  { title: 'Attempts', kind: 'number', cell: ({ attempts }) => attempts },
  { title: 'Sent', cell: ({ sentAt }) => sentAt && <Moment at={sentAt} /> },
  {
    title: 'Next attempt',
    wide: true,
    cell: ({ nextAttemptAt }) => nextAttemptAt && <Moment at={nextAttemptAt} />,
  },
  {
    title: 'Problem',
    kind: 'long',
    wide: true,
    cell: ({ problem, smtpResponse }) => [problem, smtpResponse].filter(Boolean).join(': '),
  },
];

const RESEND: Column<Mail> = { title: 'Again', cell: (mail) => <ResendMail mail={mail} /> };
