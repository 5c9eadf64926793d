// Administration of apps and their signing keys.
import { type EntityManager, LockMode, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { appUnknown, HubError } from '../../errors.ts';
import { formatId, newUuid } from '../../ids.ts';
import { isResourceName } from '../../resource-name.ts';
import type { Database } from '../../storage/database.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { type Page, type PageRequest, readPage } from '../../storage/sql/page.ts';
import { type App, AppSchema, type SigningKey, SigningKeySchema } from '../entities.ts';
import { sealedFor } from '../keys/signing.ts';
import { generateSigningKey } from '../keys/signing-key.ts';
import { listKeyIds, MAX_LISTED_KEYS } from './list-key-ids.ts';

export type AppWithKeys = { readonly app: App; readonly signingKeys: readonly SigningKey[] };

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

/** Per app: one response contains all published keys. */
const MAX_PUBLISHED_KEYS = 50;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createApps({ db, sealer, clock }: AppsOptions) {
  const addKey = (em: EntityManager, app: App): SigningKey => {
    const id = newUuid();
    const { kid, publicKeyPem, privateKeyPkcs8 } = generateSigningKey();
    const sealedPrivateKey = sealer.seal(privateKeyPkcs8, sealedFor(id));
    privateKeyPkcs8.fill(0);
    return em.create(SigningKeySchema, { id, app, kid, publicKeyPem, sealedPrivateKey, createdAt: clock() });
  };

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
          const key = addKey(em, app);
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
        // Another call may have changed it before the lock.
        await em.refresh(app);
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
        return withKeys(em, app);
      });
    },

    /** @throws HubError `app_unknown` */
    async get(slug: string): Promise<AppWithKeys> {
      const em = db.em();
      return withKeys(em, await findApp(em, slug));
    },

    async list(request: PageRequest): Promise<Page<AppWithKeys>> {
      const em = db.em();
      const page = await readPage(request, 'app', (after, limit) =>
        em.find(AppSchema, after ? { id: { $lt: after } } : {}, { orderBy: { id: 'desc' }, limit }),
      );
      const appIds = page.items.map(({ id }) => id);
      const keyIds = await listKeyIds(db.pool, appIds);
      const keys = await em.find(SigningKeySchema, { id: { $in: keyIds } }, NEWEST_FIRST);
      return {
        ...page,
        items: page.items.map((app) => ({ app, signingKeys: keys.filter((key) => key.app.id === app.id) })),
      };
    },

    /** Creates a new active key and retires the old one. @throws HubError `app_unknown`, `too_many` */
    rotateKey(slug: string, actor: Actor): Promise<AppWithKeys> {
      return db.em().transactional(async (em) => {
        const app = await lockApp(em, slug);
        if ((await em.count(SigningKeySchema, { app, withdrawnAt: null })) >= MAX_PUBLISHED_KEYS) {
          const message = `an app publishes at most ${MAX_PUBLISHED_KEYS} signing keys: withdraw one first`;
          throw new HubError('too_many', message, { field: 'app' });
        }
        const retired = await em.findOneOrFail(SigningKeySchema, { app, retiredAt: null });
        retired.retiredAt = clock();
        // A unique index allows one active key: retire the old one before inserting the new one.
        await em.flush();
        const active = addKey(em, app);
        recordChange(em, actor, clock(), {
          action: 'app.rotate_key',
          subject: formatId('app', app.id),
          before: { active: retired.kid },
          after: { active: active.kid, retired: retired.kid },
          detail: { slug },
        });
        await em.flush();
        return withKeys(em, app);
      });
    },

    /**
     * Stops publishing a retired key.
     *
     * @throws HubError `app_unknown`, `signing_key_unknown`, `signing_key_active`
     */
    withdrawKey(slug: string, kid: string, actor: Actor): Promise<AppWithKeys> {
      return db.em().transactional(async (em) => {
        const app = await lockApp(em, slug);
        const { signingKeys } = await withKeys(em, app);
        const key = signingKeys.find((candidate) => candidate.kid === kid);
        if (key === undefined) {
          throw new HubError('signing_key_unknown', `the app has no signing key "${kid}"`, { field: 'kid' });
        }
        if (key.retiredAt == null) {
          throw new HubError('signing_key_active', 'this key is the active one; rotate first', {
            field: 'kid',
          });
        }
        if (key.withdrawnAt == null) {
          key.withdrawnAt = clock();
          recordChange(em, actor, clock(), {
            action: 'app.withdraw_key',
            subject: formatId('app', app.id),
            before: { published: true },
            after: { published: false },
            detail: { slug, kid },
          });
        }
        return { app, signingKeys };
      });
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

/** @throws HubError `app_unknown` */
export async function findApp(em: EntityManager, slug: string): Promise<App> {
  const app = isResourceName(slug) ? await em.findOne(AppSchema, { slug }) : null;
  if (app === null) throw appUnknown();
  return app;
}

/**
 * Locks the app until the end of the transaction: its keys and profiles change one at a time.
 * @throws HubError `app_unknown`
 */
export async function lockApp(em: EntityManager, slug: string): Promise<App> {
  const app = await findApp(em, slug);
  await em.lock(app, LockMode.PESSIMISTIC_WRITE);
  return app;
}

/** The app with its published keys and its newest withdrawn ones, newest first. Uses signing_key_app_idx. */
async function withKeys(em: EntityManager, app: App): Promise<AppWithKeys> {
  const published = await em.find(SigningKeySchema, { app, withdrawnAt: null }, NEWEST_FIRST);
  const withdrawn = await em.find(
    SigningKeySchema,
    { app, withdrawnAt: { $ne: null } },
    { ...NEWEST_FIRST, limit: MAX_LISTED_KEYS - published.length },
  );
  const signingKeys = [...published, ...withdrawn].sort((one, other) => (one.id < other.id ? 1 : -1));
  return { app, signingKeys };
}

const NEWEST_FIRST = { orderBy: { id: 'desc' } } as const;
