// Administration of apps and the default terms of their licenses.
import { UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { formatId, newUuid } from '../../ids.ts';
import type { Database } from '../../storage/database.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { findPage, type Page, type PageRequest } from '../../storage/sql/page.ts';
import { type App, AppSchema } from '../entities.ts';
import { findApp, lockApp } from './find-app.ts';
import { type AppWithKeys, readAppsWithKeys, readAppWithKeys } from './read-signing-keys.ts';
import { addSigningKey } from './rotate-signing-keys.ts';

export type AppsOptions = { readonly db: Database; readonly sealer: Sealer; readonly clock: Clock };

/** The terms of an app's new licenses that do not set their own. */
export type DefaultTerms = {
  /** Null for no lease. */
  readonly leaseDays: number | null;
  readonly graceDays: number;
  /** -1 means unlimited. */
  readonly seatLimit: number;
};

/** With a lease, a revocation also reaches machines that stay offline. */
export const FIRST_DEFAULT_TERMS: DefaultTerms = { leaseDays: 30, graceDays: 0, seatLimit: 1 };

export type NewApp = {
  readonly slug: string;
  /** Empty for the slug. */
  readonly name: string;
  readonly terms: DefaultTerms;
};

export type AppUpdate = Partial<DefaultTerms & { readonly name: string }>;

export function createApps({ db, sealer, clock }: AppsOptions) {
  return {
    /** @throws HubError `app_exists` */
    async create({ slug, name, terms }: NewApp, actor: Actor): Promise<AppWithKeys> {
      try {
        return await db.em().transactional(async (em) => {
          const { leaseDays, graceDays, seatLimit } = terms;
          const app = em.create(AppSchema, {
            id: newUuid(),
            slug,
            name: name || slug,
            createdAt: clock(),
            defaultLeaseDays: leaseDays,
            defaultGraceDays: graceDays,
            defaultSeatLimit: seatLimit,
          });
          const key = addSigningKey(em, app, { sealer, clock });
          recordChange(em, actor, clock(), {
            action: 'app.create',
            subject: formatId('app', app.id),
            before: null,
            after: { slug, name: app.name, kid: key.kid, leaseDays, graceDays, seatLimit },
          });
          return { app, signingKeys: [key] };
        });
      } catch (error) {
        if (!(error instanceof UniqueConstraintViolationException)) throw error;
        throw new HubError('app_exists', `there is an app "${slug}" already`, { field: 'slug' });
      }
    },

    /** Existing licenses keep their terms. Equal values change nothing. @throws HubError `app_unknown` */
    update(slug: string, update: AppUpdate, actor: Actor): Promise<AppWithKeys> {
      return db.em().transactional(async (em) => {
        const app = await lockApp(em, slug);
        const was = changeableOf(app);
        const is = { ...was, ...update };
        const changed = (Object.keys(was) as (keyof typeof was)[]).filter((name) => was[name] !== is[name]);
        if (changed.length > 0) {
          app.name = is.name || app.slug;
          app.defaultLeaseDays = is.leaseDays;
          app.defaultGraceDays = is.graceDays;
          app.defaultSeatLimit = is.seatLimit;
          const facts = (from: typeof was) => Object.fromEntries(changed.map((name) => [name, from[name]]));
          recordChange(em, actor, clock(), {
            action: 'app.update',
            subject: formatId('app', app.id),
            before: facts(was),
            after: facts(changeableOf(app)),
            detail: { slug },
          });
        }
        return readAppWithKeys(em, app);
      });
    },

    /** @throws HubError `app_unknown` */
    async get(slug: string): Promise<AppWithKeys> {
      const em = db.em();
      return readAppWithKeys(em, await findApp(em, slug));
    },

    async list(request: PageRequest): Promise<Page<AppWithKeys>> {
      const em = db.em();
      const page = await findPage({ em, entity: AppSchema, prefix: 'app', where: [] }, request);
      return { ...page, items: await readAppsWithKeys(em, db.pool, page.items) };
    },
  };
}

function changeableOf(app: App): Required<AppUpdate> {
  return {
    name: app.name,
    leaseDays: app.defaultLeaseDays ?? null,
    graceDays: app.defaultGraceDays,
    seatLimit: app.defaultSeatLimit,
  };
}
