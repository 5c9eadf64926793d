// Licenses, newest first: finds one by anything that is known of it, and issues more.

import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { ListPage } from '../components/page.tsx';
import { scopeFilter, useApps } from '../components/scope-filters.ts';
import { useKept } from '../forms/search.ts';
import { IssueLicense, mayIssue } from '../licensing/issue-license.tsx';
import { firstPageTime, LICENSE_FILTERS, licenseRequest } from '../licensing/license-filters.ts';
import { LicenseTable } from '../licensing/license-table.tsx';
import { useList } from '../list.ts';
import { useSignedIn } from '../signed-in.ts';

const EVERY_MS = 15_000;

export function LicensesView() {
  const who = useSignedIn();
  const apps = useApps();
  const live = useKept(
    useList({
      everyMs: EVERY_MS,
      scope: [apps.chosen],
      load: async ({ query, pageToken }, options) => {
        const since = firstPageTime(query['since']);
        const filter = { ...licenseRequest(query, since), ...omitEmpty({ app: apps.chosen }) };
        const page = await who.hub.licenses.listLicenses({ ...filter, pageToken }, options);
        return { ...page, since: since.toISOString() };
      },
    }),
  );
  const [search, ...others] = LICENSE_FILTERS;
  return (
    <ListPage
      title="Licenses"
      live={live}
      filters={[search, scopeFilter('app', 'App', apps), ...others]}
      actions={mayIssue(who) && <IssueLicense apps={apps} />}
      search={{ what: 'license', rows: ({ licenses }) => licenses }}
    >
      {({ licenses }) => (
        <LicenseTable
          licenses={licenses}
          empty="No license matches. Search for a part of the customer’s name, email or reference, the last five symbols of the key, a value of metadata, or a whole license id."
        />
      )}
    </ListPage>
  );
}
