// Administers payment slots: the merchant's accounts at providers.
import { isDeepStrictEqual } from 'node:util';
import { type EntityManager, LockMode, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import type { Actor } from '../../access/caller.ts';
import { recordChange } from '../../audit/record.ts';
import { HubError } from '../../errors.ts';
import { formatId, newUuid } from '../../ids.ts';
import { isResourceName } from '../../resource-name.ts';
import { ProviderTokenSchema, type Slot, SlotSchema } from '../entities.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import { checkBaseUrl, checkCredentials, checkOptions, checkReturnOrigins } from './check-slot-settings.ts';
import { type Credentials, sealCredentials, withDefaults } from './provider-connections.ts';

export type NewSlot = Pick<Slot, 'name' | 'gateway' | 'environment' | 'options' | 'returnOrigins'> & {
  /** Empty: the provider's production URL. */
  readonly baseUrl: string;
  readonly credentials: Credentials;
};

export type SlotChanges = Pick<NewSlot, 'options'> & {
  /** Undefined to keep them. */
  readonly returnOrigins: NewSlot['returnOrigins'] | undefined;
};

/** A slot after a request; `unchanged` if it was so already. */
export type ChangedSlot = { readonly slot: Slot; readonly unchanged: boolean };

/** Slots are listed without pages, and each has its own metrics. */
const MAX_SLOTS = 1_000;

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: returns many short functions
export function createSlots({ db, sealer, clock, driverOf }: AdminDependencies) {
  /** Changes a slot under its lock. */
  const change = <T>(name: string, work: (em: EntityManager, slot: Slot) => Promise<T> | T): Promise<T> =>
    db
      .em()
      .transactional(async (em) =>
        work(em, await findSlot(em, name, { lockMode: LockMode.PESSIMISTIC_WRITE })),
      );

  return {
    /**
     * @throws HubError `slot_exists`, `too_many`, `gateway_unknown`, `credentials_invalid`,
     * `base_url_invalid`, `slot_option_invalid`, `return_origin_invalid`
     */
    async add(request: NewSlot, actor: Actor): Promise<Slot> {
      const { name, gateway, environment } = request;
      const driver = driverOf(gateway);
      const baseUrl = checkBaseUrl(driver, environment, request.baseUrl);
      const options = checkOptions(driver, request.options);
      const credentials = checkCredentials(driver, request.credentials);
      const returnOrigins = checkReturnOrigins(request.returnOrigins);
      const [id, now] = [newUuid(), clock()];
      try {
        return await db.em().transactional(async (em) => {
          if ((await em.count(SlotSchema)) >= MAX_SLOTS) {
            throw new HubError('too_many', `a hub has at most ${MAX_SLOTS} slots`, { field: 'name' });
          }
          const slot = em.create(SlotSchema, {
            id,
            name,
            gateway,
            environment,
            baseUrl,
            options,
            returnOrigins,
            sealedCredentials: sealCredentials(sealer, id, credentials),
            createdAt: now,
            rotatedAt: now,
          });
          recordChange(em, actor, now, {
            action: 'slot.add',
            subject: formatId('slot', id),
            before: null,
            after: { name, gateway, environment, baseUrl, options, returnOrigins },
          });
          return slot;
        });
      } catch (error) {
        if (!(error instanceof UniqueConstraintViolationException)) throw error;
        throw new HubError('slot_exists', `there is a slot "${name}" already`, { field: 'name' });
      }
    },

    /** @throws HubError `slot_unknown` */
    get(name: string): Promise<Slot> {
      return findSlot(db.em(), name);
    },

    /** All slots by name. */
    list(): Promise<Slot[]> {
      return db.em().find(SlotSchema, {}, { orderBy: { name: 'asc' } });
    },

    /** Replaces all credentials. @throws HubError `slot_unknown`, `credentials_invalid` */
    rotate(name: string, credentials: Credentials, actor: Actor): Promise<Slot> {
      return change(name, async (em, slot) => {
        const checked = checkCredentials(driverOf(slot.gateway), credentials);
        slot.sealedCredentials = sealCredentials(sealer, slot.id, checked);
        const { rotatedAt } = slot;
        slot.rotatedAt = clock();
        // The access token was granted to the old credentials.
        await em.nativeDelete(ProviderTokenSchema, { slot });
        recordChange(em, actor, slot.rotatedAt, {
          action: 'slot.rotate',
          subject: formatId('slot', slot.id),
          before: { rotatedAt },
          after: { rotatedAt: slot.rotatedAt },
          detail: { name },
        });
        return slot;
      });
    },

    /**
     * Changes the given options only, and replaces the return origins if they are given.
     *
     * @throws HubError `slot_unknown`, `slot_option_invalid`, `return_origin_invalid`
     */
    update(name: string, changes: SlotChanges, actor: Actor): Promise<ChangedSlot> {
      return change(name, (em, slot) => {
        const driver = driverOf(slot.gateway);
        const before = { options: withDefaults(driver, slot.options), returnOrigins: slot.returnOrigins };
        const after = {
          options: checkOptions(driver, { ...slot.options, ...changes.options }),
          returnOrigins: changes.returnOrigins
            ? checkReturnOrigins(changes.returnOrigins)
            : slot.returnOrigins,
        };
        const [optionsChange, originsChange] = [
          !isDeepStrictEqual(before.options, after.options),
          !isDeepStrictEqual(before.returnOrigins, after.returnOrigins),
        ];
        if (!optionsChange && !originsChange) return { slot, unchanged: true };
        Object.assign(slot, after);
        const changed = ({ options, returnOrigins }: typeof after) => ({
          ...(optionsChange && { options }),
          ...(originsChange && { returnOrigins }),
        });
        recordChange(em, actor, clock(), {
          action: 'slot.update',
          subject: formatId('slot', slot.id),
          before: changed(before),
          after: changed(after),
          detail: { name },
        });
        return { slot, unchanged: false };
      });
    },

    /**
     * Disabling a disabled slot, or enabling an enabled one, changes nothing.
     *
     * @throws HubError `slot_unknown`
     */
    setDisabled(name: string, disabled: boolean, actor: Actor): Promise<ChangedSlot> {
      return change(name, (em, slot) => {
        if (disabled === (slot.disabledAt != null)) return { slot, unchanged: true };
        slot.disabledAt = disabled ? clock() : null;
        recordChange(em, actor, clock(), {
          action: disabled ? 'slot.disable' : 'slot.enable',
          subject: formatId('slot', slot.id),
          before: { disabled: !disabled },
          after: { disabled },
          detail: { name },
        });
        return { slot, unchanged: false };
      });
    },
  };
}

/** @throws HubError `slot_unknown` */
export async function findSlot(
  em: EntityManager,
  name: string,
  options: { lockMode?: LockMode.PESSIMISTIC_WRITE } = {},
): Promise<Slot> {
  const slot = isResourceName(name) ? await em.findOne(SlotSchema, { name }, options) : null;
  if (slot === null) throw new HubError('slot_unknown', 'there is no slot with this name', { field: 'slot' });
  return slot;
}
