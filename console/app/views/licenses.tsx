// Licenses, newest first.

import { LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import { LicenseBadge } from '../components/badge.tsx';
import { choicesWithAny, Filters } from '../components/filters.tsx';
import { ShortId } from '../components/id.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { scopeFilter, useApps } from '../components/scope-filters.ts';
import { Seats } from '../components/seats.tsx';
import { Table } from '../components/table.tsx';
import { Moment } from '../components/timestamp.tsx';
import { useLive } from '../live.ts';
import { useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 15_000;
const STATES: Readonly<Record<string, LicenseState>> = {
  active: LicenseState.ACTIVE,
  revoked: LicenseState.REVOKED,
  expired: LicenseState.EXPIRED,
};

export function LicensesView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const apps = useApps(who);
  const { state = '', customer, key, after = '' } = query;
  const app = query['app'] ?? apps.only;
  const live = useLive(JSON.stringify([app, state, customer, key, after]), EVERY_MS, (signal) =>
    who.hub.licenses.listLicenses(
      {
        state: STATES[state] ?? LicenseState.UNSPECIFIED,
        ...(app && { app }),
        ...(customer && { customer }),
        ...(key && { keyHint: key }),
        pageToken: after,
      },
      { signal },
    ),
  );
  return (
    <Page title="Licenses">
      <Filters
        filters={[
          scopeFilter('app', 'App', apps),
          { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(STATES)) },
          { name: 'customer', label: 'Customer', placeholder: 'exactly' },
          { name: 'key', label: 'Key ends with', placeholder: '3VCC9', cleaned: endOfKey },
        ]}
      />
      <Loaded live={live}>
        {({ licenses, nextPageToken }) => (
          <>
            <Table
              caption="Licenses"
              rows={licenses}
              keyOf={({ licenseId }) => licenseId}
              empty="No license matches. Enter the exact name of a customer or the last five symbols of a key."
              columns={[
                { title: 'License', cell: ({ licenseId }) => <ShortId id={licenseId} /> },
                { title: 'State', cell: (it) => <LicenseBadge state={it.state} /> },
                { title: 'Key ends', kind: 'named', cell: ({ keyHint }) => <code>{keyHint}</code> },
                { title: 'Seats', kind: 'named', cell: ({ seats }) => <Seats seats={seats} /> },
                { title: 'App', wide: true, cell: (it) => it.app },
                { title: 'Customer', kind: 'long', cell: (it) => it.customer },
                {
                  title: 'Expires',
                  wide: true,
                  cell: ({ expiresAt }) => <Moment at={expiresAt} none="never" />,
                },
                { title: 'Issued', wide: true, cell: ({ createdAt }) => <Moment at={createdAt} /> },
              ]}
            />
            <Pager next={nextPageToken} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Accepts a whole license key, but sends only its last characters. */
function endOfKey(text: string): string {
  return text.replace(/[\s-]/g, '').slice(-5).toUpperCase();
}
