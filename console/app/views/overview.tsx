// The overview: the state of the hub and the problems that need an operator.

import { CallbackTable } from '../components/callback-table.tsx';
import { Facts } from '../components/facts.tsx';
import { LivePage, Section } from '../components/page.tsx';
import { spanText } from '../components/times.tsx';
import { decimalText } from '../components/values.tsx';
import {
  callbacksToReview,
  countUpToMax,
  loadOverview,
  longestWait,
  type Overview,
  problemsOf,
} from '../overview-data.ts';
import { roleName } from '../permissions.ts';
import { useLive } from '../poll-hub.ts';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

export function OverviewView() {
  const who = useSignedIn();
  const live = useLive('overview', 10_000, (signal) => loadOverview(who, signal));
  return (
    <LivePage title="Overview" live={live}>
      {(seen) => (
        <>
          <Verdict seen={seen} />
          <Tiles seen={seen} />
          {seen.backlog && (
            <Section title="Callbacks that are waiting or failed">
              <CallbackTable
                caption="Callbacks that are waiting or failed"
                callbacks={callbacksToReview(seen.backlog)}
                empty="None: all callbacks are processed."
                isShort
              />
            </Section>
          )}
          <Section title="This hub">
            <Facts
              facts={[
                ['Version', seen.version],
                ['Clock', seen.hubTime],
                ['Signed in as', `${who.caller.name} (${roleName(who.caller.role)})`],
                ['Token', who.caller.tokenId && <code>{who.caller.tokenId}</code>],
              ]}
            />
          </Section>
        </>
      )}
    </LivePage>
  );
}

function Verdict({ seen }: { readonly seen: Overview }) {
  const problems = problemsOf(seen);
  if (problems.length === 0) {
    return (
      <div class="verdict good">
        <strong>No problems.</strong> The hub serves
        {seen.backlog && ', and no callback or order needs attention'}.
      </div>
    );
  }
  return (
    <div class="verdict bad">
      <strong>
        {problems.length === 1 ? '1 problem needs attention' : `${problems.length} problems need attention`}
      </strong>
      <ul>
        {problems.map(({ text, advice, link }) => (
          <li key={text}>
            {text} {link ? <a href={link}>{advice}</a> : <span class="muted">{advice}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

type Tile = readonly [name: string, value: string, note: string, link: string];

function Tiles({ seen }: { readonly seen: Overview }) {
  return (
    <ul class="tiles">
      {tilesOf(seen).map(([name, value, note, link]) => (
        <li key={name}>
          <a class="tile" href={link}>
            <span class="name">{name}</span>
            <span class="value">{value}</span>
            <span class="muted">{note}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

/** A tile for each figure that the caller may see. */
function tilesOf({ backlog, blocked, pending, paid, hubTime }: Overview): Tile[] {
  const tiles: Tile[] = [];
  const addCallbacks = (name: string, state: string, count: number, some: string, none: string): void => {
    tiles.push([name, countUpToMax(count), count > 0 ? some : none, linkTo(['callbacks'], { state })]);
  };
  if (backlog !== undefined) {
    const { waiting, dead, mismatch } = backlog;
    const oldest = `oldest: ${spanText(longestWait(backlog, hubTime))}`;
    addCallbacks('Waiting callbacks', 'received', waiting.length, oldest, 'all processed');
    addCallbacks('Dead callbacks', 'dead', dead.length, 'can be replayed', 'none given up');
    addCallbacks('Mismatches', 'mismatch', mismatch.length, 'settled nothing', 'no contradictions');
  }
  if (blocked !== undefined) {
    const note = blocked > 0 ? 'paid, can be retried' : 'all fulfilled';
    tiles.push([
      'Blocked orders',
      countUpToMax(blocked),
      note,
      linkTo(['orders'], { state: 'blocked', span: 'all' }),
    ]);
  }
  if (pending !== undefined) {
    const link = linkTo(['sessions'], { status: 'pending', span: '1' });
    tiles.push(['Sessions pending', countUpToMax(pending), 'created within a day', link]);
  }
  for (const { currency, total } of paid) {
    const { payments, paidMinorUnits } = total;
    const note = `${payments} ${payments === 1n ? 'payment' : 'payments'} within a day`;
    tiles.push([`Paid, ${currency}`, decimalText(paidMinorUnits, currency), note, linkTo(['usage'])]);
  }
  return tiles;
}
