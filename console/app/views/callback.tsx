// One callback: its outcome, its fields and the verifications that it caused.
import type { Callback } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { CALLBACK_STATES, CHARGE_STATUSES, wordFor } from '../../../lib/presentation/enum-names.ts';
import { Confirm } from '../components/confirm.tsx';
import { Facts, pairFacts } from '../components/facts.tsx';
import { ShortId, WholeId } from '../components/ids.tsx';
import { LivePage, Section } from '../components/page.tsx';
import { Badge, StateBadge } from '../components/state-badges.tsx';
import { Table } from '../components/table.tsx';
import { Moment } from '../components/times.tsx';
import { useLive } from '../poll-hub.ts';
import { useSignedIn } from '../sign-in-state.ts';

export function CallbackView({ id }: { readonly id: string }) {
  const { hub, may } = useSignedIn();
  const live = useLive(id, 5_000, async (signal) => {
    const { callback, verifications } = await hub.paymentAdmin.getCallback({ callbackId: id }, { signal });
    if (callback === undefined) throw new Error('the hub returned no callback');
    return { callback, verifications };
  });
  return (
    <LivePage
      title="Callback"
      live={live}
      beside={({ callback }) => <StateBadge of={CALLBACK_STATES} state={callback.state} />}
      actions={({ callback }) => may('paymentAdmin.replayCallback') && <Replay callback={callback} />}
    >
      {({ callback: it, verifications }) => (
        <>
          <p class="lead">{it.reason}</p>
          <Facts
            facts={[
              ['Callback', <WholeId key="id" id={it.callbackId} />],
              ['Session', it.sessionId && <ShortId id={it.sessionId} />],
              ['Settled with', it.sessionStatus > 0 && wordFor(CHARGE_STATUSES, it.sessionStatus)],
              ['Gateway', it.gateway],
              ['Attempts', it.attempts],
              ['Received', <Moment key="received" at={it.receivedAt} exact />],
              ['Finished', <Moment key="finished" at={it.finishedAt} exact none="not yet" />],
              [
                'Replayed',
                it.replayedAt.length > 0 && it.replayedAt.map((at) => <Moment key={at.seconds} at={at} />),
              ],
            ]}
          />
          <Section title="Fields">
            <p class="muted">
              As anybody can send it: only what the provider answers to the hub’s own question settles a
              payment.
            </p>
            <Table
              caption="Fields of the callback"
              rows={pairFacts(it.fields)}
              keyOf={([name]) => name}
              empty="It had no fields."
              columns={[
                { title: 'Field', cell: ([name]) => <code>{name}</code> },
                { title: 'Value', kind: 'long', cell: ([, value]) => <code class="value">{value}</code> },
              ]}
            />
          </Section>
          <Section title="Requests to the provider">
            <Table
              caption="Requests to the provider"
              rows={verifications}
              keyOf={({ askedAt, operation }) => `${askedAt?.seconds}.${askedAt?.nanos} ${operation}`}
              empty="This callback caused no requests. Another callback’s verification may have settled it, or it had no effect."
              columns={[
                { title: 'Asked', cell: ({ askedAt }) => <Moment at={askedAt} exact /> },
                { title: 'What', cell: ({ operation }) => operation },
                { title: 'Outcome', cell: ({ outcome }) => <Badge>{outcome}</Badge> },
                { title: 'Took', kind: 'number', cell: ({ durationMs }) => `${durationMs} ms` },
                { title: 'Answer', kind: 'long', cell: ({ detail }) => detail },
              ]}
            />
          </Section>
        </>
      )}
    </LivePage>
  );
}

function Replay({ callback }: { readonly callback: Callback }) {
  const { hub } = useSignedIn();
  const run = async (): Promise<string> => {
    const reply = await hub.paymentAdmin.replayCallback({ callbackId: callback.callbackId });
    return `Replayed: the callback is ${wordFor(CALLBACK_STATES, reply.callback?.state ?? 0)}.`;
  };
  return (
    <Confirm action="Replay" question="Process this callback again?" run={run}>
      <p>
        The hub verifies the session with the provider again and settles it by the answer. A settled session
        is not settled twice.
      </p>
    </Confirm>
  );
}
