// Apps, their signing keys and limit profiles.

import { type App, type LimitProfile, SigningKeyState } from '../../../gen/hub/license/v1/license_pb.ts';
import { ListPage } from '../components/list-page.tsx';
import { Section } from '../components/page.tsx';
import { StateBadge } from '../components/state-badges.tsx';
import { Table } from '../components/table.tsx';
import { Moment } from '../components/times.tsx';
import { limitsText } from '../components/values.tsx';
import { defaultTermsText, EditDefaultTerms } from '../licensing/default-terms.tsx';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

/** Each app needs one request for its profiles. */
const PAGE_SIZE = 20;

type AppWithProfiles = { readonly app: App; readonly profiles: readonly LimitProfile[] };

export function AppsView() {
  const { hub, may } = useSignedIn();
  const seesProfiles = may('licenses.listLimitProfiles');
  return (
    <ListPage
      title="Apps and keys"
      everyMs={30_000}
      load={async ({ pageToken }, options) => {
        const page = await hub.licenses.listApps({ pageSize: PAGE_SIZE, pageToken }, options);
        const withProfiles = page.apps.map(async (app): Promise<AppWithProfiles> => {
          if (!seesProfiles) return { app, profiles: [] };
          const reply = await hub.licenses.listLimitProfiles({ app: app.slug }, options);
          return { app, profiles: reply.limitProfiles };
        });
        return { apps: await Promise.all(withProfiles), nextPageToken: page.nextPageToken };
      }}
    >
      {({ apps }) => (
        <>
          {apps.length === 0 && (
            <p class="empty">
              There is no app yet: <code>hubctl app create</code> makes one with its signing key.
            </p>
          )}
          {apps.map((each) => (
            <AppSection key={each.app.slug} {...each} />
          ))}
        </>
      )}
    </ListPage>
  );
}

function AppSection({ app, profiles }: AppWithProfiles) {
  const { slug, name, signingKeys, createdAt } = app;
  const mayEdit = useSignedIn().may('licenses.updateApp');
  return (
    <Section
      isCard
      title={
        <>
          {name} <code>{slug}</code>
        </>
      }
      beside={<a href={linkTo(['licenses'], { app: slug })}>Its licenses</a>}
    >
      <p class="muted">
        Since <Moment at={createdAt} />
      </p>
      <div class="section-head">
        <p>{defaultTermsText(app.defaultTerms)}</p>
        {mayEdit && <EditDefaultTerms app={app} />}
      </div>
      <Table
        caption={`Signing keys of ${slug}`}
        rows={signingKeys}
        keyOf={({ kid }) => kid}
        empty="It has no signing key."
        columns={[
          { title: 'Signing key', kind: 'long', cell: ({ kid }) => <code class="value">{kid}</code> },
          { title: 'State', cell: ({ state }) => <StateBadge of={KEY_STATES} state={state} /> },
          { title: 'Created', wide: true, cell: (key) => key.createdAt },
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
    </Section>
  );
}

const KEY_STATES = {
  active: SigningKeyState.ACTIVE,
  retired: SigningKeyState.RETIRED,
  withdrawn: SigningKeyState.WITHDRAWN,
};
