// Administration of endpoints. A change takes effect between two events; see stream/sequencer.ts.
import type { EntityManager } from '@mikro-orm/postgresql';
import type { PoolClient } from 'pg';
import type { Actor } from '../../access/caller.ts';
import type { Facts } from '../../audit/entities.ts';
import { type Change, HUB, recordChangeNow } from '../../audit/record.ts';
import { HOUR_MS } from '../../clock.ts';
import { HubError, unknownId } from '../../errors.ts';
import { formatId, newUuid, parseId, type Uuid } from '../../ids.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import type { Secret } from '../../secret.ts';
import type { AddressPolicy } from '../delivery/address-policy.ts';
import type { Disabling } from '../delivery/attempt-delivery.ts';
import { type Endpoint, EndpointSchema } from '../entities.ts';
import { recordEvent } from '../outbox.ts';
import type { BetweenEvents } from '../stream/sequencer.ts';
import { checkSettings, type EndpointSettings } from './check-endpoint-settings.ts';
import type { EndpointSecrets } from './endpoint-secrets.ts';
import {
  checkEndpointCount,
  deletePending,
  insertEndpoint,
  lockEndpoint,
  MAX_ENDPOINTS,
  type NewState,
  removeEndpoint,
  updateEndpoint,
  writeDisabled,
  writeSecret,
} from './write-endpoints.ts';

export type EndpointsOptions = Pick<ModuleDependencies, 'db' | 'clock'> & {
  readonly betweenEvents: BetweenEvents;
  readonly secrets: EndpointSecrets;
  readonly policy: AddressPolicy;
};

/** How long deliveries are signed with a replaced secret too. */
const DEFAULT_KEEP_HOURS = 24;

export type Endpoints = ReturnType<typeof createEndpoints>;

export type EndpointWithSecret = { readonly endpoint: Endpoint; readonly secret: Secret<string> };

export function createEndpoints(options: EndpointsOptions) {
  const { db, betweenEvents, secrets, policy, clock } = options;
  const get = (endpointId: string): Promise<Endpoint> => findEndpoint(db.em(), endpointId);

  return {
    /** @throws HubError `endpoint_unknown` */
    get,

    /** Newest first; at most 100. */
    list(): Promise<Endpoint[]> {
      const newestFirst = { orderBy: { id: 'desc' }, limit: MAX_ENDPOINTS } as const;
      return db.em().find(EndpointSchema, { removedAt: null }, newestFirst);
    },

    /**
     * @throws HubError `endpoint_url_invalid`, `event_type_unknown`, `app_unknown`, `slot_unknown`,
     * `too_many`
     */
    async create(settings: EndpointSettings, actor: Actor): Promise<EndpointWithSecret> {
      const id = newUuid();
      const { secret, sealed } = secrets.create(id);
      await betweenEvents(async (client) => {
        const checked = await checkSettings(client, settings, policy);
        await checkEndpointCount(client);
        const now = clock();
        await insertEndpoint(client, { id, settings: checked, sealed, now });
        await recordChangeNow(client, actor, now, {
          action: 'endpoint.create',
          subject: formatId('whe', id),
          before: null,
          after: factsOf(settings),
        });
      });
      return { endpoint: await get(formatId('whe', id)), secret };
    },

    /** @throws HubError as `create`, `endpoint_unknown` */
    async update(endpointId: string, settings: EndpointSettings, actor: Actor): Promise<Endpoint> {
      await change(options, endpointId, actor, async (client, id) => {
        const was = await updateEndpoint(client, id, await checkSettings(client, settings, policy));
        const before = { ...was, url: withoutQuery(was.url) };
        return { action: 'endpoint.update', before, after: factsOf(settings) };
      });
      return get(endpointId);
    },

    /** @throws HubError `endpoint_unknown` */
    async disable(endpointId: string, reason: string, actor: Actor): Promise<Endpoint> {
      await setDisabled(options, endpointId, { reason }, actor);
      return get(endpointId);
    },

    /** Disables an endpoint whose deliveries fail. Returns false if the reason no longer applies. */
    async disableFailing(endpointId: string, { reason, ...only }: Disabling): Promise<boolean> {
      return setDisabled(options, endpointId, { reason, only }, HUB).catch((error) => {
        if (error instanceof HubError && error.code === 'endpoint_unknown') return false; // removed meanwhile
        throw error;
      });
    },

    /** @throws HubError `endpoint_unknown` */
    async enable(endpointId: string, actor: Actor): Promise<Endpoint> {
      await setDisabled(options, endpointId, { reason: null }, actor);
      return get(endpointId);
    },

    /** @throws HubError `endpoint_unknown` */
    async remove(endpointId: string, actor: Actor): Promise<void> {
      await change(options, endpointId, actor, async (client, id, now) => {
        const was = await removeEndpoint(client, id, now);
        const before = { ...was, url: withoutQuery(was.url) };
        return { action: 'endpoint.remove', before, after: null };
      });
      const id = parseId('whe', endpointId);
      if (id !== undefined) await deletePending(db.pool, id);
    },

    /**
     * Replaces the secret, and signs with both for `keepHours`; undefined means a day.
     * @throws HubError `endpoint_unknown`
     */
    async rotateSecret(
      endpointId: string,
      keepHours: number | undefined,
      actor: Actor,
    ): Promise<EndpointWithSecret> {
      const id = parseId('whe', endpointId);
      const { secret, sealed } = secrets.create(id ?? '');
      await change(options, endpointId, actor, async (client, locked, now) => {
        const hours = keepHours ?? DEFAULT_KEEP_HOURS;
        const until = hours === 0 ? null : new Date(now.getTime() + hours * HOUR_MS);
        await writeSecret(client, locked, { sealed, keepPreviousUntil: until });
        const after = { previousSecretUntil: until?.toISOString() ?? null };
        return { action: 'endpoint.rotate_secret', before: {}, after };
      });
      return { endpoint: await get(endpointId), secret };
    },
  };
}

type EndpointChange = Pick<Change, 'action' | 'before' | 'after'>;

/**
 * Locks an endpoint, runs `work`, and records its change in the audit log. Returns whether `work` made a
 * change.
 */
async function change(
  { betweenEvents, clock }: EndpointsOptions,
  endpointId: string,
  actor: Actor,
  work: (client: PoolClient, id: Uuid, now: Date) => Promise<EndpointChange | undefined>,
): Promise<boolean> {
  return betweenEvents(async (client) => {
    const id = await lockEndpoint(client, endpointId);
    const now = clock();
    const changed = await work(client, id, now);
    if (changed) await recordChangeNow(client, actor, now, { ...changed, subject: endpointId });
    return changed !== undefined;
  });
}

/** Disables an endpoint with a reason, or enables it without one. Returns whether its state changed. */
async function setDisabled(
  options: EndpointsOptions,
  endpointId: string,
  { reason, only }: Omit<NewState, 'now'>,
  actor: Actor,
): Promise<boolean> {
  return change(options, endpointId, actor, async (client, id, now) => {
    if (!(await writeDisabled(client, id, { reason, now, only }))) return undefined;
    if (reason === null) {
      return { action: 'endpoint.enable', before: { disabled: true }, after: { disabled: false } };
    }
    await recordEvent(client, now, { type: 'endpoint.disabled', objectId: id });
    return { action: 'endpoint.disable', before: { disabled: false }, after: { disabled: true, reason } };
  });
}

/** @throws HubError `endpoint_unknown` */
export async function findEndpoint(em: EntityManager, endpointId: string): Promise<Endpoint> {
  const id = parseId('whe', endpointId);
  const endpoint = id ? await em.findOne(EndpointSchema, { id, removedAt: null }) : null;
  if (endpoint === null) throw unknownId('whe');
  return endpoint;
}

/** The settings for the audit log, without the query of the URL, which may contain a secret. */
function factsOf({ url, ...settings }: EndpointSettings): Facts {
  return { url: withoutQuery(url), ...settings };
}

/** Replaces the query of a URL with `…`. */
export function withoutQuery(url: string): string {
  const [address = '', query] = url.split('?');
  return query === undefined ? address : `${address}?…`;
}
