// The event module: numbers events, delivers them, and serves EventService.
import { EndpointSchema as EndpointMessage } from '../../gen/hub/event/v1/event_pb.ts';
import { EventService } from '../../gen/hub/event/v1/event_service_pb.ts';
import { formatId } from '../ids.ts';
import type { ModuleDependencies } from '../module-dependencies.ts';
import { createSerialQueue } from '../serial-queue.ts';
import { serve } from '../service-implementation.ts';
import { createAddressPolicy } from './delivery/address-policy.ts';
import { createDeliveries } from './delivery/delivery-admin.ts';
import { startDispatcher } from './delivery/dispatcher.ts';
import { createPayloadOf, type PayloadOptions } from './delivery/payload.ts';
import { createWebhookSender } from './delivery/send-webhook.ts';
import { createEndpoints, withoutQuery } from './endpoint/endpoint-admin.ts';
import { createEndpointSecrets } from './endpoint/endpoint-secrets.ts';
import { createReadScopeNames } from './endpoint/scope-names.ts';
import { type Endpoint, EndpointSchema } from './entities.ts';
import { eraseEvents } from './erase-personal-data.ts';
import { createEventService } from './event-service.ts';
import { endpointToProto } from './messages.ts';
import { createEventMetrics } from './metrics.ts';
import { recordLastPruned } from './prune-guard.ts';
import { type ObjectReaders, showObject } from './read-objects.ts';
import { createEvents } from './stream/events.ts';
import type { Numbered } from './stream/number-events.ts';
import { createBetweenEvents, startSequencer } from './stream/sequencer.ts';
import { createWatchEvents } from './stream/watch-events.ts';
import { eventTableMetrics } from './table-metrics.ts';

export type EventModuleOptions = ModuleDependencies & {
  /** Private networks that endpoints may be in, in CIDR form. */
  readonly allowedNetworks: readonly string[];
  /** The readers of the other modules. */
  readonly readers: Omit<ObjectReaders, 'endpoint'>;
  readonly licenseKeyOf: PayloadOptions['licenseKeyOf'];
};

export function createEventModule(options: EventModuleOptions) {
  const { db, sealer, clock, logger, tasks } = options;
  const { pool } = db;
  const metrics = createEventMetrics(options.metrics);
  const readScopeNames = createReadScopeNames(pool);
  const showEndpoint = async (endpoint: Endpoint) =>
    showObject(EndpointMessage, endpointToProto(endpoint, await readScopeNames([endpoint])));
  const readers: ObjectReaders = {
    ...options.readers,
    async endpoint(ids) {
      const found = await db.em().find(EndpointSchema, { id: { $in: [...ids] } });
      return new Map(
        await Promise.all(
          found.map(async (endpoint) => {
            // Other endpoints receive it, and the query of a URL may contain a secret.
            const shown = { ...endpoint, url: withoutQuery(endpoint.url) };
            return [endpoint.id, { data: await showEndpoint(shown) }] as const;
          }),
        ),
      );
    },
  };
  const policy = createAddressPolicy(options.allowedNetworks);
  const abortAttempts = new AbortController();
  const sender = createWebhookSender({ policy, signal: abortAttempts.signal, clock });
  const secrets = createEndpointSecrets(sealer);
  const events = createEvents(pool, readers);

  const counterQueue = createSerialQueue();
  const onNumbered = ({ deliveries }: Numbered): void => {
    if (deliveries > 0) dispatcher.wake();
  };
  const sequencerOptions = { pool, counterQueue, readers, clock, metrics, onNumbered };
  const endpoints = createEndpoints({
    db,
    betweenEvents: createBetweenEvents(sequencerOptions),
    secrets,
    policy,
    clock,
  });
  const dispatcher = startDispatcher({
    pool,
    abortAttempts,
    sender,
    secrets,
    payloadOf: createPayloadOf({ readers, licenseKeyOf: options.licenseKeyOf }),
    async disable(id, disabling) {
      const endpointId = formatId('whe', id);
      const { reason } = disabling;
      if (await endpoints.disableFailing(endpointId, disabling)) {
        logger.warn({ endpointId, reason }, 'disabled an endpoint');
      }
    },
    clock,
    logger,
    task: tasks.of('event_deliveries'),
    metrics,
  });
  const sequencer = startSequencer({ ...sequencerOptions, logger, task: tasks.of('event_sequencer') });
  const service = createEventService({
    endpoints,
    deliveries: createDeliveries({
      db,
      events,
      sender,
      secrets,
      showEndpoint,
      onDue: () => dispatcher.wake(),
      clock,
    }),
    events,
    watchEvents: createWatchEvents(pool, events),
    readScopeNames,
    clock,
  });
  return {
    services: [serve(EventService, service)],
    erasePersonalData: eraseEvents,
    pruneGuard: { save: recordLastPruned },
    /** Runs transactions that take the lock `event_counter`. */
    counterQueue,
    figures: eventTableMetrics,
    async close(): Promise<void> {
      await sequencer.stop();
      await dispatcher.stop();
    },
  };
}
