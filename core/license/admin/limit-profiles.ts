// Administration of limit profiles: named sets of limits of an app.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { formatId, newUuid } from '../../ids.ts';
import type { Database } from '../../storage/database.ts';
import { type App, type LimitProfile, LimitProfileSchema } from '../entities.ts';
import type { Limits } from '../terms.ts';
import { findApp, lockApp } from './find-app.ts';

export type LimitProfilesOptions = { readonly db: Database; readonly clock: Clock };

/** Per app: the list is not paginated. */
const MAX_PROFILES = 100;

export function createLimitProfiles({ db, clock }: LimitProfilesOptions) {
  return {
    /** Creates a profile or replaces all its limits. @throws HubError `app_unknown`, `too_many` */
    set(slug: string, name: string, limits: Limits, actor: Actor): Promise<LimitProfile> {
      return db.em().transactional(async (em) => {
        // Locked, because two operators may create the same profile at the same time.
        const app = await lockApp(em, slug);
        const found = await em.findOne(LimitProfileSchema, { app, name });
        if (found === null && (await em.count(LimitProfileSchema, { app })) >= MAX_PROFILES) {
          const message = `an app has at most ${MAX_PROFILES} limit profiles`;
          throw new HubError('too_many', message, { field: 'name' });
        }
        const before = found && { limits: found.limits };
        const profile = found ?? em.create(LimitProfileSchema, { id: newUuid(), app, name, limits });
        profile.limits = limits;
        recordChange(em, actor, clock(), {
          action: 'limit_profile.set',
          subject: formatId('app', app.id),
          before,
          after: { limits },
          detail: { slug, name },
        });
        return profile;
      });
    },

    /** By name. @throws HubError `app_unknown` */
    async list(slug: string): Promise<LimitProfile[]> {
      const em = db.em();
      return em.find(LimitProfileSchema, { app: await findApp(em, slug) }, { orderBy: { name: 'asc' } });
    },

    /** The limits of one profile. @throws HubError `app_unknown`, `limit_profile_unknown` */
    async limitsOf(slug: string, name: string): Promise<Limits> {
      const em = db.em();
      return (await findLimitProfile(em, await findApp(em, slug), name)).limits;
    },
  };
}

/** @throws HubError `limit_profile_unknown` */
export async function findLimitProfile(em: EntityManager, app: App, name: string): Promise<LimitProfile> {
  // Compared here, because PostgreSQL does not accept every text as a parameter.
  const profiles = await em.find(LimitProfileSchema, { app });
  const profile = profiles.find((candidate) => candidate.name === name);
  if (profile !== undefined) return profile;
  throw limitProfileUnknown(app, name);
}

export function limitProfileUnknown({ slug }: Pick<App, 'slug'>, name: string): HubError {
  const message = `the app "${slug}" has no limit profile "${name}"`;
  return new HubError('limit_profile_unknown', message, { field: 'limitProfile' });
}
