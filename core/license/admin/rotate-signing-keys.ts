// Rotates and withdraws the signing keys of apps.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { formatId, newUuid } from '../../ids.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import { type App, type SigningKey, SigningKeySchema } from '../entities.ts';
import { sealedFor } from '../keys/sign-license.ts';
import { generateSigningKey } from '../keys/signing-key-pair.ts';
import { lockApp } from './find-app.ts';
import { type AppWithKeys, readAppWithKeys } from './read-signing-keys.ts';

export type SigningKeyAdminOptions = Pick<ModuleDependencies, 'db' | 'sealer' | 'clock'>;

/** Per app: one response contains all published keys. */
const MAX_PUBLISHED_KEYS = 50;

export function createSigningKeyAdmin({ db, sealer, clock }: SigningKeyAdminOptions) {
  return {
    /** Creates a new active key and retires the old one. @throws HubError `app_unknown`, `too_many` */
    rotate(slug: string, actor: Actor): Promise<AppWithKeys> {
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
        const active = addSigningKey(em, app, { sealer, clock });
        recordChange(em, actor, clock(), {
          action: 'app.rotate_key',
          subject: formatId('app', app.id),
          before: { active: retired.kid },
          after: { active: active.kid, retired: retired.kid },
          detail: { slug },
        });
        await em.flush();
        return readAppWithKeys(em, app);
      });
    },

    /**
     * Stops publishing a retired key.
     *
     * @throws HubError `app_unknown`, `signing_key_unknown`, `signing_key_active`
     */
    withdraw(slug: string, kid: string, actor: Actor): Promise<AppWithKeys> {
      return db.em().transactional(async (em) => {
        const app = await lockApp(em, slug);
        const { signingKeys } = await readAppWithKeys(em, app);
        const key = signingKeys.find((candidate) => candidate.kid === kid);
        if (key === undefined) {
          throw new HubError('signing_key_unknown', `the app has no signing key "${kid}"`, { field: 'kid' });
        }
        if (key.retiredAt == null) {
          const message = 'this key is the active one; rotate first';
          throw new HubError('signing_key_active', message, { field: 'kid' });
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

/** Creates an active key. The app has none, or has retired it. */
export function addSigningKey(
  em: EntityManager,
  app: App,
  { sealer, clock }: Pick<SigningKeyAdminOptions, 'sealer' | 'clock'>,
): SigningKey {
  const id = newUuid();
  const { kid, publicKeyPem, privateKeyPkcs8 } = generateSigningKey();
  const sealedPrivateKey = sealer.seal(privateKeyPkcs8, sealedFor(id));
  privateKeyPkcs8.fill(0);
  return em.create(SigningKeySchema, { id, app, kid, publicKeyPem, sealedPrivateKey, createdAt: clock() });
}
