// Apps and their signing keys as hubctl prints them.
import type { App } from '../../gen/hub/license/v1/license_pb.ts';
import { part } from '../reply.ts';
import type { Column } from '../table.ts';
import { rfc3339, shortTime } from './cells.ts';

/** Words of the key states by their number in the contract. */
export const SIGNING_KEY_STATES = { active: 1, retired: 2, withdrawn: 3 } as const;

export type SigningKeyView = {
  readonly kid: string;
  readonly state: string;
  readonly createdAt: string;
  readonly publicKeyPem: string;
};

export type AppView = {
  readonly slug: string;
  readonly name: string;
  readonly appId: string;
  readonly createdAt: string;
  /** Newest first. */
  readonly signingKeys: readonly SigningKeyView[];
};

export function appView(app: App): AppView {
  return {
    slug: app.slug,
    name: app.name,
    appId: app.appId,
    createdAt: rfc3339(part(app.createdAt, 'creation time')),
    signingKeys: app.signingKeys.map((key) => ({
      kid: key.kid,
      state: Object.entries(SIGNING_KEY_STATES).find(([, number]) => number === key.state)?.[0] ?? 'unknown',
      createdAt: rfc3339(part(key.createdAt, 'creation time')),
      publicKeyPem: key.publicKeyPem,
    })),
  };
}

export const APP_COLUMNS: readonly Column<AppView>[] = [
  { title: 'APP', cell: (app) => app.slug },
  { title: 'NAME', cell: (app) => app.name },
  { title: 'KEYS', cell: (app) => app.signingKeys.length, right: true },
  { title: 'ACTIVE KEY', cell: (app) => app.signingKeys.find((key) => key.state === 'active')?.kid },
  { title: 'CREATED', cell: (app) => shortTime(app.createdAt) },
];

export const APP_FIELDS: readonly Column<AppView>[] = [
  { title: 'App', cell: (app) => app.slug },
  { title: 'Name', cell: (app) => app.name },
  { title: 'Id', cell: (app) => app.appId },
  { title: 'Created', cell: (app) => shortTime(app.createdAt) },
];

export const SIGNING_KEY_COLUMNS: readonly Column<SigningKeyView>[] = [
  { title: 'SIGNING KEY', cell: (key) => key.kid },
  { title: 'STATE', cell: (key) => key.state },
  { title: 'CREATED', cell: (key) => shortTime(key.createdAt) },
];
