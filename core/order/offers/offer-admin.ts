// Administration of offers. A change of the terms is a new version; versions are never changed.
import {
  type EntityManager,
  type FilterQuery,
  LockMode,
  UniqueConstraintViolationException,
} from '@mikro-orm/postgresql';
import type { ListOffersRequest } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import type { OfferTerms } from '../../../gen/hub/order/v1/order_pb.ts';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { formatId, newUuid } from '../../ids.ts';
import { findApp } from '../../license/admin/find-app.ts';
import type { App } from '../../license/entities.ts';
import type { KeySecrets } from '../../license/keys/open-key-secrets.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import { findPage, type Page, type PageRequest } from '../../storage/sql/page.ts';
import { type Offer, OfferSchema, type OfferVersion, OfferVersionSchema } from '../entities.ts';
import { checkPricesAreFree } from './catalog-prices.ts';
import { findOffer, formatOfferRef } from './find-offer.ts';
import { checkSameGrant, checkTerms, factsOf, isSameTerms, type Terms, termsOf } from './offer-terms.ts';

export type OffersOptions = Pick<ModuleDependencies, 'db' | 'clock'> & {
  readonly keySecrets: Pick<KeySecrets, 'active'>;
};

export type VersionedOffer = { readonly offer: Offer; readonly version: OfferVersion };

/** An offer after a request; `changed` is false if it was so already. */
export type ChangedOffer = VersionedOffer & { readonly changed: boolean };

export type OfferFilter = Pick<ListOffersRequest, 'app' | 'includeArchived'>;

export type Offers = ReturnType<typeof createOffers>;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createOffers({ db, keySecrets, clock }: OffersOptions) {
  return {
    /**
     * @throws HubError `app_unknown`, `offer_exists`, `offer_invalid`, `amount_invalid`, `period_invalid`,
     * `signed_metadata_invalid`, `limit_profile_unknown`, `slot_unknown`
     */
    async create(slug: string, app: string, terms: OfferTerms, actor: Actor): Promise<VersionedOffer> {
      // A settlement derives license keys and cannot create this secret.
      await keySecrets.active('derivation');
      try {
        return await db.em().transactional(async (em) => {
          const owner = await findApp(em, app);
          const checked = await checkTerms(em, owner, terms);
          const now = clock();
          const offer = em.create(OfferSchema, {
            id: newUuid(),
            app: owner,
            slug,
            version: 1,
            createdAt: now,
          });
          const version = addVersion(em, offer, checked, now);
          recordChange(em, actor, now, {
            action: 'offer.create',
            subject: formatId('ofr', offer.id),
            before: null,
            after: { ...factsOf(checked), version: 1 },
            detail: { offer: formatOfferRef(offer) },
          });
          return { offer, version };
        });
      } catch (error) {
        if (!(error instanceof UniqueConstraintViolationException)) throw error;
        const message = `the app "${app}" has an offer "${slug}" already`;
        throw new HubError('offer_exists', message, { field: 'slug' });
      }
    },

    /** @throws HubError as `create`, `offer_unknown`, `version_conflict` */
    update(
      ref: string,
      terms: OfferTerms,
      expectedVersion: number | undefined,
      actor: Actor,
    ): Promise<ChangedOffer> {
      return db.em().transactional(async (em) => {
        const offer = await lockOffer(em, ref);
        if (expectedVersion !== undefined && expectedVersion !== offer.version) {
          const versions = `version ${offer.version}, not ${expectedVersion}`;
          const message = `the offer has ${versions}: read it again before you change it`;
          throw new HubError('version_conflict', message, { field: 'expectedVersion' });
        }
        const { version: current } = await withVersion(em, offer);
        const before = termsOf(current);
        const after = await checkTerms(em, offer.app as App, terms, offer.id);
        checkSameGrant(before, after);
        if (isSameTerms(before, after)) return { offer, version: current, changed: false };
        const now = clock();
        offer.version += 1;
        const version = addVersion(em, offer, after, now);
        recordChange(em, actor, now, {
          action: 'offer.update',
          subject: formatId('ofr', offer.id),
          before: { ...factsOf(before), version: current.version },
          after: { ...factsOf(after), version: offer.version },
          detail: { offer: formatOfferRef(offer) },
        });
        return { offer, version, changed: true };
      });
    },

    /** @param version 0 for the current one. @throws HubError `offer_unknown` */
    async get(ref: string, version = 0): Promise<VersionedOffer> {
      const em = db.em();
      return withVersion(em, await findOffer(em, ref), version);
    },

    /** Newest first. @throws HubError `app_unknown`, `page_token_invalid` */
    async list(filter: OfferFilter, request: PageRequest): Promise<Page<VersionedOffer>> {
      const em = db.em();
      const where: FilterQuery<Offer>[] = [];
      if (filter.app !== undefined) where.push({ app: await findApp(em, filter.app) });
      if (!filter.includeArchived) where.push({ archivedAt: null });
      const list = { em, entity: OfferSchema, prefix: 'ofr', where, populate: ['app'] } as const;
      const page = await findPage(list, request);
      return { ...page, items: await readVersions(em, page.items) };
    },

    /** @throws HubError `offer_unknown`; `offer_invalid` if another offer names one of its prices */
    setArchived(ref: string, archived: boolean, actor: Actor): Promise<ChangedOffer> {
      return db.em().transactional(async (em) => {
        const offer = await lockOffer(em, ref);
        const current = await withVersion(em, offer);
        const changed = archived !== (offer.archivedAt != null);
        if (changed) {
          const { catalogPrices } = current.version;
          if (!archived) await checkPricesAreFree(em, catalogPrices, offer.id, 'offer');
          const now = clock();
          offer.archivedAt = archived ? now : null;
          recordChange(em, actor, now, {
            action: archived ? 'offer.archive' : 'offer.unarchive',
            subject: formatId('ofr', offer.id),
            before: { archived: !archived },
            after: { archived },
            detail: { offer: formatOfferRef(offer) },
          });
        }
        return { ...current, changed };
      });
    },
  };
}

function addVersion(em: EntityManager, offer: Offer, terms: Terms, at: Date): OfferVersion {
  const { grant, ...rest } = terms;
  return em.create(OfferVersionSchema, {
    ...rest,
    id: newUuid(),
    offer,
    version: offer.version,
    granted: grant,
    createdAt: at,
  });
}

async function lockOffer(em: EntityManager, ref: string): Promise<Offer> {
  const offer = await findOffer(em, ref);
  await em.lock(offer, LockMode.PESSIMISTIC_WRITE);
  // Another transaction may have changed it before the lock was granted.
  await em.refresh(offer);
  return offer;
}

/** @throws HubError `offer_unknown` if the offer has no such version */
async function withVersion(em: EntityManager, offer: Offer, version = 0): Promise<VersionedOffer> {
  const found = await em.findOne(
    OfferVersionSchema,
    { offer, version: version || offer.version },
    { populate: ['pageSlot'] },
  );
  if (found !== null) return { offer, version: found };
  const message = `the offer has no version ${version}: the newest is ${offer.version}`;
  throw new HubError('offer_unknown', message, { field: 'version' });
}

async function readVersions(em: EntityManager, offers: readonly Offer[]): Promise<VersionedOffer[]> {
  const versions = await em.find(
    OfferVersionSchema,
    { $or: offers.map((offer) => ({ offer, version: offer.version })) },
    { populate: ['pageSlot'] },
  );
  const byOffer = new Map(versions.map((version) => [version.offer.id, version]));
  return offers.flatMap((offer) => {
    const version = byOffer.get(offer.id);
    return version === undefined ? [] : [{ offer, version }];
  });
}
