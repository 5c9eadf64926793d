// The overview: the state of the hub and the problems that need an operator.

import { CallbackTable } from '../components/callback-table.tsx';
import { Facts } from '../components/facts.tsx';
import { decimalText, spanText } from '../components/inline.tsx';
import { LivePage, Section } from '../components/page.tsx';
import { useLive } from '../live.ts';
import {
  callbacksToReview,
  counted,
  loadOverview,
  longestWait,
  type Overview,
  problemsOf,
} from '../overview-query.ts';
import { roleName } from '../permissions.ts';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../signed-in.ts';

const EVERY_MS = 10_000;

export function OverviewView() {
  const who = useSignedIn();
  const live = useLive('overview', EVERY_MS, (signal) => loadOverview(who, signal));
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

function Tiles({ seen: { backlog, blocked, pending, paid, hubTime } }: { readonly seen: Overview }) {
  const callbacks = (state: string): string => linkTo(['callbacks'], { state });
  return (
    <ul class="tiles">
      {backlog && (
        <>
          <Tile
            name="Waiting callbacks"
            value={counted(backlog.waiting.length)}
            note={
              backlog.waiting.length > 0
                ? `oldest: ${spanText(longestWait(backlog, hubTime))}`
                : 'all processed'
            }
            link={callbacks('received')}
          />
          <Tile
            name="Dead callbacks"
            value={counted(backlog.dead.length)}
            note={backlog.dead.length > 0 ? 'can be replayed' : 'none given up'}
            link={callbacks('dead')}
          />
          <Tile
            name="Mismatches"
            value={counted(backlog.mismatch.length)}
            note={backlog.mismatch.length > 0 ? 'settled nothing' : 'no contradictions'}
            link={callbacks('mismatch')}
          />
        </>
      )}
      {blocked !== undefined && (
        <Tile
          name="Blocked orders"
          value={counted(blocked)}
          note={blocked > 0 ? 'paid, can be retried' : 'all fulfilled'}
          link={linkTo(['orders'], { state: 'blocked', span: 'all' })}
        />
      )}
      {pending !== undefined && (
        <Tile
          name="Sessions pending"
          value={counted(pending)}
          note="created within a day"
          link={linkTo(['sessions'], { status: 'pending', span: '1' })}
        />
      )}
      {paid.map(({ currency, minorUnits, payments }) => (
        <Tile
          key={currency}
          name={`Paid, ${currency}`}
          value={decimalText(minorUnits, currency)}
          note={`${payments} ${payments === 1n ? 'payment' : 'payments'} within a day`}
          link={linkTo(['usage'])}
        />
      ))}
    </ul>
  );
}

type TileProps = {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly link: string;
};

function Tile({ name, value, note, link }: TileProps) {
  return (
    <li>
      <a class="tile" href={link}>
        <span class="name">{name}</span>
        <span class="value">{value}</span>
        <span class="muted">{note}</span>
      </a>
    </li>
  );
}
