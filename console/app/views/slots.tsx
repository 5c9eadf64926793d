// Payment slots, with a test of their provider credentials.

import { useState } from 'preact/hooks';
import type { TestSlotResponse } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type Slot, SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { announce } from '../announce.ts';
import { LivePage } from '../components/page.tsx';
import { Badge } from '../components/state-badges.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Moment } from '../components/times.tsx';
import { explain } from '../explain-error.ts';
import { useLive } from '../poll-hub.ts';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

export function SlotsView() {
  const { hub, may } = useSignedIn();
  const live = useLive('slots', 30_000, (signal) => hub.paymentAdmin.listSlots({}, { signal }));
  const mayTest = may('paymentAdmin.testSlot');
  return (
    <LivePage title="Slots" live={live}>
      {({ slots }) => (
        <Table
          caption="Payment slots"
          rows={slots}
          keyOf={({ slotId }) => slotId}
          empty={
            <>
              There is no slot yet: <code>hubctl slot add</code> makes one with the credentials of a provider.
            </>
          }
          columns={mayTest ? [...COLUMNS, TEST] : COLUMNS}
        />
      )}
    </LivePage>
  );
}

const COLUMNS: readonly Column<Slot>[] = [
  { title: 'Slot', cell: ({ name }) => <a href={linkTo(['sessions'], { slot: name })}>{name}</a> },
  { title: 'State', cell: (slot) => <SlotState slot={slot} /> },
  { title: 'Gateway', wide: true, cell: ({ gateway }) => gateway },
  { title: 'Environment', cell: ({ environment }) => ENVIRONMENTS[environment] ?? 'unknown' },
  {
    title: 'Provider',
    kind: 'long',
    wide: true,
    cell: ({ baseUrl }) => <code class="value">{baseUrl}</code>,
  },
  { title: 'Credentials since', wide: true, cell: ({ rotatedAt }) => rotatedAt },
];

const TEST: Column<Slot> = { title: 'Provider answers', cell: ({ name }) => <Test slot={name} /> };

const ENVIRONMENTS: Readonly<Record<number, string>> = {
  [SlotEnvironment.SANDBOX]: 'sandbox',
  [SlotEnvironment.PRODUCTION]: 'production',
};

function SlotState({ slot: { disabledAt } }: { readonly slot: Slot }) {
  if (disabledAt === undefined) return <Badge>enabled</Badge>;
  return (
    <>
      <Badge tone="wait">disabled</Badge> <Moment at={disabledAt} />
    </>
  );
}

/** Tests the provider with a read-only call: whether it answers and accepts the credentials. */
function Test({ slot }: { readonly slot: string }) {
  const { hub } = useSignedIn();
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<TestSlotResponse | undefined>();
  const [failure, setFailure] = useState('');
  const test = async (): Promise<void> => {
    setBusy(true);
    setFailure('');
    try {
      const reply = await hub.paymentAdmin.testSlot({ slot });
      setResult(reply);
      announce(`${slot}: ${wordOf(reply)}`);
    } catch (error) {
      setFailure(explain(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="test">
      <button type="button" disabled={busy} onClick={() => void test()} aria-label={`Test ${slot}`}>
        {busy ? 'Testing …' : 'Test'}
      </button>
      {failure}
      {result && (
        <span>
          <Badge tone={result.ok ? 'good' : 'bad'}>{wordOf(result)}</Badge> {result.detail}{' '}
          <span class="muted">({result.durationMs} ms)</span>
        </span>
      )}
    </div>
  );
}

function wordOf({ ok, answered }: TestSlotResponse): string {
  if (ok) return 'answers';
  return answered ? 'refuses' : 'no answer';
}
