// Payments and fees by currency and day (UTC), and the fee rules.

import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { UsageDay } from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import type { FeeRule } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { DAY_MS } from '../../../lib/presentation/calendar.ts';
import { FEE_RULE_STATES } from '../../../lib/presentation/enum-names.ts';
import { feeRuleScope, feeTermsText, percentText } from '../../../lib/presentation/fee-rule.ts';
import { formatDecimal } from '../../../lib/presentation/money.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { BarChart } from '../components/bar-chart.tsx';
import { Facts } from '../components/facts.tsx';
import { Filters } from '../components/filters.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page, Section } from '../components/page.tsx';
import { scopeFilter, useSlots } from '../components/scope-filters.ts';
import { StateBadge } from '../components/state-badges.tsx';
import { Table } from '../components/table.tsx';
import { decimalText } from '../components/values.tsx';
import { byCurrency, type CurrencyUsage, daysBack } from '../daily-usage.ts';
import { useLive } from '../poll-hub.ts';
import { useRoute } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

const PERIODS = [
  ['7', 'last 7 days'],
  ['30', 'last 30 days'],
  ['90', 'last 90 days'],
  ['365', 'last year'],
] as const;

export function UsageView() {
  const { hub, may, isLimited } = useSignedIn();
  const { query } = useRoute();
  const slots = useSlots();
  const { chosen: slot } = slots;
  const span = PERIODS.find(([days]) => days === query['span'])?.[0] ?? '30';
  const live = useLive(`${span} ${slot}`, 60_000, async (signal) => {
    const days = daysBack(Number(span), new Date());
    const [first = new Date()] = days;
    const reply = await hub.paymentAdmin.summarizeUsage(
      {
        ...omitEmpty({ slot }),
        settledFrom: timestampFromDate(first),
        settledTo: timestampFromDate(new Date(Date.now() + DAY_MS)),
      },
      { signal },
    );
    return byCurrency(days, reply.days);
  });
  const seesRules = !isLimited && may('paymentAdmin.listFeeRules');
  return (
    <Page title="Usage and fees">
      <Filters
        filters={[
          { name: 'span', label: 'Period', choices: PERIODS, otherwise: '30' },
          scopeFilter('slot', 'Slot', slots),
        ]}
      />
      <Loaded live={live}>
        {(currencies) =>
          currencies.length === 0 ? (
            <p class="empty">Nothing was paid in this period.</p>
          ) : (
            currencies.map((usage) => <CurrencySection key={usage.currency} usage={usage} />)
          )
        }
      </Loaded>
      {seesRules && <FeeRules />}
    </Page>
  );
}

function CurrencySection({ usage }: { readonly usage: CurrencyUsage }) {
  const { currency, days, total } = usage;
  const text = (minorUnits: bigint): string => `${decimalText(minorUnits, currency)} ${currency}`;
  return (
    <Section isCard title={currency}>
      <Facts
        areTotals
        facts={[
          ['Paid', text(total.paidMinorUnits)],
          ['Fees', text(total.feeMinorUnits)],
          ['Payments', String(total.payments)],
          [
            `Reversed: ${total.reversedPayments}`,
            total.reversedPayments > 0n && text(total.reversedMinorUnits),
          ],
          [`Refunds: ${total.refunds}`, total.refunds > 0n && text(total.refundedMinorUnits)],
          ['Net', total.netMinorUnits !== total.paidMinorUnits && text(total.netMinorUnits)],
        ]}
      />
      <div class="charts">
        <BarChart title="Paid" currency={currency} bars={days.map((day) => [day.day, day.paidMinorUnits])} />
        <BarChart title="Fees" currency={currency} bars={days.map((day) => [day.day, day.feeMinorUnits])} />
      </div>
      <details>
        <summary>Show as a table</summary>
        <DayTable days={days} currency={currency} />
      </details>
    </Section>
  );
}

function DayTable({ days, currency }: { readonly days: readonly UsageDay[]; readonly currency: string }) {
  const money = (minorUnits: bigint): string => decimalText(minorUnits, currency);
  return (
    <Table
      caption={`Payments in ${currency} by day (UTC)`}
      rows={days
        .filter((day) => day.payments > 0n || day.reversedPayments > 0n || day.refunds > 0n)
        .reverse()}
      keyOf={({ day }) => day}
      empty="Nothing was paid."
      columns={[
        { title: 'Day (UTC)', cell: ({ day }) => day },
        { title: 'Payments', kind: 'number', cell: ({ payments }) => String(payments) },
        { title: `Paid, ${currency}`, kind: 'number', cell: ({ paidMinorUnits }) => money(paidMinorUnits) },
        { title: `Fees, ${currency}`, kind: 'number', cell: ({ feeMinorUnits }) => money(feeMinorUnits) },
        { title: 'Reversed', kind: 'number', wide: true, cell: (day) => money(day.reversedMinorUnits) },
        { title: 'Refunded', kind: 'number', wide: true, cell: (day) => money(day.refundedMinorUnits) },
      ]}
    />
  );
}

function FeeRules() {
  const { hub } = useSignedIn();
  const live = useLive('rules', 120_000, (signal) => hub.paymentAdmin.listFeeRules({}, { signal }));
  return (
    <Section title="Fee rules">
      <Loaded live={live}>
        {({ rules }) => (
          <Table
            caption="Fee rules"
            rows={rules}
            keyOf={({ feeRuleId }) => feeRuleId}
            empty="There are no fee rules: payments cost nothing."
            columns={[
              { title: 'Rule', cell: ({ name }) => name },
              { title: 'Fee', kind: 'long', cell: (rule) => termsText(rule) },
              { title: 'State', cell: ({ state }) => <StateBadge of={FEE_RULE_STATES} state={state} /> },
              { title: 'For', wide: true, cell: feeRuleScope },
              { title: 'Version', kind: 'number', wide: true, cell: ({ version }) => version },
              { title: 'From', wide: true, cell: ({ validFrom }) => validFrom },
              { title: 'To', wide: true, cell: ({ validTo }) => validTo },
            ]}
          />
        )}
      </Loaded>
    </Section>
  );
}

function termsText(rule: FeeRule): string {
  const text = (minorUnits: bigint | undefined) =>
    minorUnits ? `${formatDecimal(minorUnits, rule.currency)} ${rule.currency}` : undefined;
  return feeTermsText({
    percent: percentText(rule.basisPoints),
    fixed: text(rule.fixedMinorUnits),
    min: text(rule.minMinorUnits),
    max: text(rule.maxMinorUnits),
  });
}
