// Payment slots, with a test of their provider credentials.
import { useState } from 'preact/hooks';
import {
  PaymentAdminService,
  type TestSlotResponse,
} from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type Slot, SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { announce } from '../announce.ts';
import { Badge } from '../components/badge.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Table } from '../components/table.tsx';
import { Moment } from '../components/timestamp.tsx';
import { explain } from '../explain.ts';
import { useLive } from '../live.ts';
import { canCall } from '../permissions.ts';
import { linkTo } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 30_000;

export function SlotsView({ who }: { readonly who: SignedIn }) {
  const live = useLive('slots', EVERY_MS, (signal) => who.hub.paymentAdmin.listSlots({}, { signal }));
  const mayTest = canCall(who.caller, PaymentAdminService.method.testSlot);
  return (
    <Page title="Slots">
      <Loaded live={live}>
        {({ slots }) => (
          <Table
            caption="Payment slots"
            rows={slots}
            keyOf={({ slotId }) => slotId}
            empty={
              <>
                There is no slot yet: <code>hubctl slot add</code> makes one with the credentials of a
                provider.
              </>
            }
            columns={[
              {
                title: 'Slot',
                cell: ({ name }) => <a href={linkTo(['sessions'], { slot: name })}>{name}</a>,
              },
              { title: 'State', cell: (slot) => <SlotState slot={slot} /> },
              { title: 'Gateway', wide: true, cell: ({ gateway }) => gateway },
              { title: 'Environment', cell: ({ environment }) => ENVIRONMENTS[environment] ?? 'unknown' },
              {
                title: 'Provider',
                kind: 'long',
                wide: true,
                cell: ({ baseUrl }) => <code class="value">{baseUrl}</code>,
              },
              { title: 'Credentials since', wide: true, cell: ({ rotatedAt }) => <Moment at={rotatedAt} /> },
              ...(mayTest
                ? [{ title: 'Provider answers', cell: (slot: Slot) => <Test who={who} slot={slot.name} /> }]
                : []),
            ]}
          />
        )}
      </Loaded>
    </Page>
  );
}

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
function Test({ who, slot }: { readonly who: SignedIn; readonly slot: string }) {
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState<TestSlotResponse | undefined>();
  const [failure, setFailure] = useState('');
  const test = async (): Promise<void> => {
    setBusy(true);
    setFailure('');
    try {
      const reply = await who.hub.paymentAdmin.testSlot({ slot });
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
