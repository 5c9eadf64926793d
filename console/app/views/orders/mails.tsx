// Mails about orders, newest first.
import type { Mail } from '../../../../gen/hub/mail/v1/mail_pb.ts';
import { MAIL_KINDS, MAIL_STATES, numberOf, wordFor } from '../../../../lib/presentation/words.ts';
import { StateBadge } from '../../components/badge.tsx';
import { choicesWithAny, Filters } from '../../components/filters.tsx';
import { ShortId } from '../../components/id.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { scopeFilter, useApps } from '../../components/scope-filters.ts';
import { Table } from '../../components/table.tsx';
import { Moment } from '../../components/timestamp.tsx';
import { useLive } from '../../live.ts';
import { mayResendMails, ResendMail } from '../../orders/resend-mail.tsx';
import { useRoute } from '../../route.ts';
import type { SignedIn } from '../../signed-in.ts';

const EVERY_MS = 10_000;

export function MailsView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const apps = useApps(who);
  const { state = '', order, after = '' } = query;
  const app = query['app'] ?? apps.only;
  const live = useLive(JSON.stringify([state, order, app, after]), EVERY_MS, (signal) =>
    who.hub.mails.listMails(
      {
        state: numberOf(MAIL_STATES, state),
        ...(app && { app }),
        ...(order && { order }),
        pageToken: after,
      },
      { signal },
    ),
  );
  return (
    <Page title="Mails">
      <Filters
        filters={[
          { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(MAIL_STATES)) },
          scopeFilter('app', 'App', apps),
          { name: 'order', label: 'Order', placeholder: 'ord_… or chs_…' },
        ]}
      />
      <Loaded live={live}>
        {({ mails, nextPageToken }) => (
          <>
            <MailTable who={who} mails={mails} onDone={live.refresh} />
            <Pager next={nextPageToken} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

type TableProps = {
  readonly who: SignedIn;
  readonly mails: readonly Mail[];
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};

function MailTable({ who, mails, onDone }: TableProps) {
  const resend = {
    title: 'Again',
    cell: (mail: Mail) => <ResendMail who={who} mail={mail} onDone={onDone} />,
  };
  return (
    <Table
      caption="Mails"
      rows={mails}
      keyOf={({ mailId }) => mailId}
      empty="There is no such mail. The hub writes mails if it is set up to send them."
      columns={[
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
        ...(mayResendMails(who) ? [resend] : []),
      ]}
    />
  );
}
