// Apps, their signing keys and limit profiles.
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { type App, type LimitProfile, SigningKeyState } from '../../../gen/hub/license/v1/license_pb.ts';
import { StateBadge } from '../components/badge.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { Pager } from '../components/pager.tsx';
import { limitsText } from '../components/seats.tsx';
import { Table } from '../components/table.tsx';
import { Moment } from '../components/timestamp.tsx';
import { defaultTermsText, EditDefaultTerms } from '../licensing/default-terms.tsx';
import { useLive } from '../live.ts';
import { canCall } from '../permissions.ts';
import { linkTo, useRoute } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';

const EVERY_MS = 30_000;
/** Each app needs one request for its profiles. */
const PAGE_SIZE = 20;

type AppWithProfiles = { readonly app: App; readonly profiles: readonly LimitProfile[] };

export function AppsView({ who }: { readonly who: SignedIn }) {
  const { hub, caller } = who;
  const { after = '' } = useRoute().query;
  const seesProfiles = canCall(caller, LicenseAdminService.method.listLimitProfiles);
  const live = useLive(after, EVERY_MS, async (signal) => {
    const page = await hub.licenses.listApps({ pageSize: PAGE_SIZE, pageToken: after }, { signal });
    const withProfiles = page.apps.map(async (app): Promise<AppWithProfiles> => {
      if (!seesProfiles) return { app, profiles: [] };
      const reply = await hub.licenses.listLimitProfiles({ app: app.slug }, { signal });
      return { app, profiles: reply.limitProfiles };
    });
    return { apps: await Promise.all(withProfiles), nextPageToken: page.nextPageToken };
  });
  return (
    <Page title="Apps and keys">
      <Loaded live={live}>
        {({ apps, nextPageToken }) => (
          <>
            {apps.length === 0 && (
              <p class="empty">
                There is no app yet: <code>hubctl app create</code> makes one with its signing key.
              </p>
            )}
            {apps.map((each) => (
              <AppSection key={each.app.slug} {...each} who={who} onDone={live.refresh} />
            ))}
            <Pager next={nextPageToken} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

type SectionProps = AppWithProfiles & { readonly who: SignedIn; readonly onDone: () => Promise<void> };

function AppSection({ app, profiles, who, onDone }: SectionProps) {
  const { slug, name, signingKeys, createdAt } = app;
  const mayEdit = canCall(who.caller, LicenseAdminService.method.updateApp);
  return (
    <section class="card" aria-labelledby={`app-${slug}`}>
      <div class="section-head">
        <h2 id={`app-${slug}`}>
          {name} <code>{slug}</code>
        </h2>
        <a href={linkTo(['licenses'], { app: slug })}>Its licenses</a>
      </div>
      <p class="muted">
        Since <Moment at={createdAt} />
      </p>
      <div class="section-head">
        <p>{defaultTermsText(app.defaultTerms)}</p>
        {mayEdit && <EditDefaultTerms who={who} app={app} onDone={onDone} />}
      </div>
      <Table
        caption={`Signing keys of ${slug}`}
        rows={signingKeys}
        keyOf={({ kid }) => kid}
        empty="It has no signing key."
        columns={[
          { title: 'Signing key', kind: 'long', cell: ({ kid }) => <code class="value">{kid}</code> },
          { title: 'State', cell: ({ state }) => <StateBadge of={KEY_STATES} state={state} /> },
          { title: 'Created', wide: true, cell: (key) => <Moment at={key.createdAt} /> },
        ]}
      />
      <Table
        caption={`Limit profiles of ${slug}`}
        rows={profiles}
        keyOf={(profile) => profile.name}
        empty="It has no limit profiles."
        columns={[
          { title: 'Limit profile', cell: (profile) => profile.name },
          { title: 'Limits', kind: 'long', cell: ({ limits }) => limitsText(limits) },
        ]}
      />
    </section>
  );
}

const KEY_STATES = {
  active: SigningKeyState.ACTIVE,
  retired: SigningKeyState.RETIRED,
  withdrawn: SigningKeyState.WITHDRAWN,
};
