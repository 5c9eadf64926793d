// Makes one attempt to deliver an event, and decides the next state of the delivery.
import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { formatId } from '../../ids.ts';
import { isDatabaseUnavailable } from '../../storage/sql/transient-errors.ts';
import type { EndpointSecrets } from '../endpoint/endpoint-secrets.ts';
import type { EventMetrics } from '../metrics.ts';
import type { ClaimedDelivery, DueEndpoint, FinishedDelivery } from './claim-deliveries.ts';
import { webhookId } from './payload.ts';
import { DISABLE_AFTER_MS, retryDelayMs } from './retry-schedule.ts';
import type { SendResult, Webhook, WebhookSender } from './send-webhook.ts';
import { signatureHeaders } from './signature.ts';

export type AttemptOptions = {
  readonly payloadOf: (event: ClaimedDelivery, includeKeys: boolean) => Promise<string>;
  readonly sender: WebhookSender;
  readonly secrets: EndpointSecrets;
  readonly clock: Clock;
  readonly metrics: Pick<EventMetrics, 'attempted'>;
  readonly logger: Logger;
};

const GONE = 410;

type Unsigned = {
  readonly endpoint: Parameters<EndpointSecrets['open']>[0] & { readonly url: string };
  /** `evt_…` */
  readonly eventId: string;
  readonly at: Date;
  readonly body: string;
};

/** Signs the body with the secrets of the endpoint. */
export function signWebhook(secrets: EndpointSecrets, { endpoint, eventId, at, body }: Unsigned): Webhook {
  const headers = signatureHeaders({ id: eventId, timestamp: at, body, secrets: secrets.open(endpoint, at) });
  return { url: endpoint.url, headers, body };
}

/** Sends a webhook once, and measures the exchange. */
export async function sendTimed(
  sender: WebhookSender,
  webhook: Webhook,
): Promise<{ readonly result: SendResult; readonly durationMs: number }> {
  const startedMs = performance.now();
  const result = await sender.send(webhook);
  return { result, durationMs: performance.now() - startedMs };
}

/** Whether the endpoint accepted the event. */
export function isAccepted(result: SendResult): boolean {
  return result.kind === 'answered' && result.status >= 200 && result.status < 300;
}

export type PreparedAttempt = {
  readonly delivery: ClaimedDelivery;
  readonly at: Date;
  /** Undefined if the hub cannot build it. */
  readonly webhook: Webhook | undefined;
};

/**
 * Builds the webhook of a delivery. An error about this delivery makes its attempt fail, so that it delays no
 * other delivery. Rejects if the database is unavailable, which is no failure of the delivery.
 */
export async function prepareAttempt(
  options: AttemptOptions,
  endpoint: DueEndpoint,
  delivery: ClaimedDelivery,
): Promise<PreparedAttempt> {
  const eventId = webhookId(delivery.eventId);
  try {
    const body = await options.payloadOf(delivery, endpoint.includeKeys);
    const at = options.clock();
    return { delivery, at, webhook: signWebhook(options.secrets, { endpoint, eventId, at, body }) };
  } catch (err) {
    if (isDatabaseUnavailable(err)) throw err;
    const endpointId = formatId('whe', endpoint.id);
    options.logger.error({ eventId, endpointId, err }, 'cannot build a delivery');
    return { delivery, at: options.clock(), webhook: undefined };
  }
}

const NOT_BUILT: SendResult = {
  kind: 'failed',
  problem: 'the hub cannot build the delivery: its log says why',
};

export async function attemptDelivery(
  { sender, metrics }: AttemptOptions,
  endpoint: DueEndpoint,
  { delivery, at, webhook }: PreparedAttempt,
): Promise<FinishedDelivery> {
  const { result, durationMs } =
    webhook === undefined ? { result: NOT_BUILT, durationMs: 0 } : await sendTimed(sender, webhook);
  const { body: answered, ...outcome } = outcomeOf(result, delivery, at);
  const storedBody = containsKey(endpoint, delivery) ? undefined : answered;
  const finished = { ...outcome, body: storedBody, at, isBuilt: webhook !== undefined, durationMs };
  metrics.attempted(finished.state === 'delivered' ? 'delivered' : 'failed', durationMs / 1_000);
  return finished;
}

/**
 * Whether the delivery contains a license key. The answer may repeat it, and the database contains no keys.
 */
function containsKey({ includeKeys }: DueEndpoint, { type }: ClaimedDelivery): boolean {
  return includeKeys && type === 'license.issued';
}

type Outcome = Omit<FinishedDelivery, 'at' | 'isBuilt' | 'durationMs'>;

function outcomeOf(result: SendResult, delivery: ClaimedDelivery, at: Date): Outcome {
  const { eventId, endpointId, claimedUntil, attempts } = delivery;
  const answer =
    result.kind === 'answered'
      ? { status: result.status, body: result.body }
      : { status: undefined, body: undefined };
  if (isAccepted(result)) {
    const delivered = { state: 'delivered', nextAttemptAt: undefined, problem: undefined } as const;
    return { eventId, endpointId, claimedUntil, ...answer, ...delivered };
  }
  const problem =
    result.kind === 'answered' ? `the endpoint answered with status ${result.status}` : result.problem;
  const delayMs = retryDelayMs(attempts + 1, result.kind === 'answered' ? result.retryAfterMs : undefined);
  return {
    eventId,
    endpointId,
    claimedUntil,
    ...answer,
    problem,
    state: delayMs === undefined ? 'failed' : 'pending',
    nextAttemptAt: delayMs === undefined ? undefined : new Date(at.getTime() + delayMs),
  };
}

/** The reason to disable an endpoint, and the conditions under which the reason still applies. */
export type Disabling = {
  readonly reason: string;
  /** The URL of the failed attempt. If the operator has changed the URL, the reason no longer applies. */
  readonly url: string;
  /** The time of the first failure. If a delivery has succeeded since, the reason no longer applies. */
  readonly failingSince: Date | undefined;
};

/** Returns why a failed attempt disables the endpoint; undefined if the endpoint stays enabled. */
export function reasonToDisable(
  { state, status, at }: FinishedDelivery,
  { url, failingSince }: DueEndpoint,
): Disabling | undefined {
  if (state === 'delivered') return undefined;
  if (status === GONE)
    return { reason: 'the endpoint answered with status 410 (gone)', url, failingSince: undefined };
  if (failingSince === null || at.getTime() - failingSince.getTime() < DISABLE_AFTER_MS) return undefined;
  return { reason: `all deliveries have failed since ${failingSince.toISOString()}`, url, failingSince };
}
