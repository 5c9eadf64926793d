// Licenses, newest first: finds one by anything that is known of it, and issues more.

import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { ListLicensesRequestSchema } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { DAY_MS } from '../../../lib/presentation/calendar.ts';
import { LICENSE_STATES, numberOf } from '../../../lib/presentation/enum-names.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { choicesWithAny, type Filter } from '../components/filters.tsx';
import { ListPage } from '../components/list-page.tsx';
import { scopeFilter, useApps } from '../components/scope-filters.ts';
import { IssueLicense } from '../licensing/issue-license.tsx';
import { LicenseTable } from '../licensing/license-table.tsx';
import { useSignedIn } from '../sign-in-state.ts';

export function LicensesView() {
  const { hub, may } = useSignedIn();
  const apps = useApps();
  const [search, ...others] = FILTERS;
  return (
    <ListPage
      title="Licenses"
      everyMs={15_000}
      filters={[search, scopeFilter('app', 'App', apps), ...others]}
      load={async ({ query, pageToken }, options) => {
        const since = firstPageTime(query['since']);
        const filter = { ...licenseRequest(query, since), ...omitEmpty({ app: query['app'] }) };
        const page = await hub.licenses.listLicenses({ ...filter, pageToken }, options);
        return { ...page, since: since.toISOString() };
      }}
      actions={() => may('licenses.issueLicenses') && <IssueLicense apps={apps} />}
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

/** Days until the expiry; negative for licenses that have expired. */
const EXPIRIES = [
  ['', 'any'],
  ['7', 'within 7 days'],
  ['30', 'within 30 days'],
  ['90', 'within 90 days'],
  ['-30', 'in the last 30 days'],
] as const;

/** `in` and `out`: licenses that were used, or not, in the last days. */
const ACTIVITIES = [
  ['', 'any'],
  ['in7', 'in the last 7 days'],
  ['in30', 'in the last 30 days'],
  ['out30', 'not for 30 days'],
  ['out90', 'not for 90 days'],
] as const;

const FILTERS: readonly [search: Filter, ...others: Filter[]] = [
  {
    name: 'search',
    label: 'Search',
    placeholder: 'customer, metadata, id, key end',
    isLive: true,
    cleaned: withoutKey,
  },
  { name: 'state', label: 'State', choices: choicesWithAny(Object.keys(LICENSE_STATES)) },
  { name: 'expiry', label: 'Expires', choices: EXPIRIES },
  { name: 'activity', label: 'Used', choices: ACTIVITIES },
  { name: 'metadata', label: 'Metadata', placeholder: 'name=value', isLive: true, cleaned: wholePair },
];

/** Two groups of a key and more, as customers type them: O for 0, I and L for 1, and any dashes. */
const KEY_START = /^([0-9A-TV-Z]{5}[\s\p{Dash_Punctuation}]){2}/iu;

/** Of a license key, only its end is searched: the address must not contain the key. */
function withoutKey(text: string): string | undefined {
  const trimmed = text.trim();
  const symbols = trimmed.replace(/[\s\p{Dash_Punctuation}]/gu, '');
  if (/^[0-9A-Z]{25}$/i.test(symbols) && (KEY_START.test(trimmed) || symbols === trimmed)) {
    return symbols.slice(-5).toUpperCase().replaceAll('O', '0').replace(/[IL]/g, '1');
  }
  return KEY_START.test(trimmed) ? undefined : trimmed;
}

function wholePair(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === '' || /^[^=\s]+\s*=\s*\S/.test(trimmed) ? trimmed : undefined;
}

type Filtered = Exclude<MessageInitShape<typeof ListLicensesRequestSchema>, { $typeName: string }>;

/** The request of a list. `since` is the time of its first page, because later pages need the same filters. */
function licenseRequest(query: Readonly<Record<string, string>>, since: Date): Filtered {
  const { search, state = '', expiry = '', activity = '', metadata = '' } = query;
  const [, name, value = ''] = /^([^=\s]+)\s*=\s*(.*)$/.exec(metadata) ?? [];
  return {
    ...omitEmpty({ search }),
    state: numberOf(LICENSE_STATES, state),
    ...(name !== undefined && { metadata: { [name]: value } }),
    ...expiryRange(Number(expiry), since),
    ...activityDay(activity, since),
  };
}

function expiryRange(days: number, since: Date): Filtered {
  if (!Number.isInteger(days) || days === 0) return {};
  const now = timestampFromDate(since);
  const other = timestampFromDate(new Date(since.getTime() + days * DAY_MS));
  return days > 0 ? { expiresAfter: now, expiresBefore: other } : { expiresAfter: other, expiresBefore: now };
}

function activityDay(activity: string, since: Date): Filtered {
  const [, way, days] = /^(in|out)(\d{1,4})$/.exec(activity) ?? [];
  if (way === undefined) return {};
  const day = new Date(since.getTime() - Number(days) * DAY_MS).toISOString().slice(0, 10);
  return way === 'in' ? { activeSince: day } : { inactiveSince: day };
}

/** The time of the first page, from the address or now. */
function firstPageTime(since: string | undefined): Date {
  const start = new Date(since ?? '');
  return Number.isNaN(start.getTime()) ? new Date() : start;
}
