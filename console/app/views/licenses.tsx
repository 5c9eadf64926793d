// Licenses, newest first: finds one by anything that is known of it, and issues more.
import { Filters } from '../components/filters.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { scopeFilter, useApps } from '../components/scope-filters.ts';
import { SearchResult } from '../components/search-result.tsx';
import { useKept } from '../forms/search.ts';
import { IssueLicense, mayIssue } from '../licensing/issue-license.tsx';
import { firstPageTime, LICENSE_FILTERS, licenseRequest } from '../licensing/license-filters.ts';
import { LicenseTable } from '../licensing/license-table.tsx';
import { useLive } from '../live.ts';
import { useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 15_000;

export function LicensesView({ who }: { readonly who: SignedIn }) {
  const { query } = useRoute();
  const apps = useApps(who);
  const app = query['app'] ?? apps.only;
  const live = useKept(
    useLive(JSON.stringify([query, app]), EVERY_MS, async (signal) => {
      const since = firstPageTime(query['since']);
      const page = await who.hub.licenses.listLicenses(
        { ...licenseRequest(query, since), ...(app && { app }), pageToken: query['after'] ?? '' },
        { signal },
      );
      return { ...page, since: since.toISOString() };
    }),
  );
  return (
    <Page
      title="Licenses"
      actions={mayIssue(who) && <IssueLicense who={who} apps={apps.names} app={app} onDone={live.refresh} />}
    >
      <Filters
        filters={[
          ...LICENSE_FILTERS.slice(0, 1),
          scopeFilter('app', 'App', apps),
          ...LICENSE_FILTERS.slice(1),
        ]}
      />
      <Loaded live={live}>
        {({ licenses, nextPageToken, since }) => (
          <SearchResult
            what="license"
            count={licenses.length}
            hasMore={nextPageToken !== ''}
            isOutdated={live.isOutdated}
          >
            <LicenseTable
              licenses={licenses}
              empty="No license matches. Search for a part of the customer’s name, email or reference, the last five symbols of the key, a value of metadata, or a whole license id."
            />
            <Pager next={nextPageToken} since={since} />
          </SearchResult>
        )}
      </Loaded>
    </Page>
  );
}
