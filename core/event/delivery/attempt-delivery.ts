// Makes one attempt to deliver an event, and decides the next state of the delivery.
import type { Clock } from '../../clock.ts';
import type { EndpointSecrets } from '../endpoint/endpoint-secrets.ts';
import type { EventMetrics } from '../metrics.ts';
import type { ClaimedDelivery, DueEndpoint, FinishedDelivery } from './claim-deliveries.ts';
import { webhookId } from './payload.ts';
import { DISABLE_AFTER_MS, retryDelayMs } from './retry-schedule.ts';
import type { SendResult, WebhookSender } from './send-webhook.ts';
import { signatureHeaders } from './signature.ts';

export type AttemptOptions = {
  readonly sender: WebhookSender;
  readonly secrets: EndpointSecrets;
  readonly clock: Clock;
  readonly metrics: Pick<EventMetrics, 'attempted'>;
};

const GONE = 410;

type Attempt = { readonly delivery: ClaimedDelivery; readonly body: string };

type SignedRequest = {
  readonly endpoint: Parameters<EndpointSecrets['open']>[0] & { readonly url: string };
  /** `evt_…` */
  readonly eventId: string;
  readonly at: Date;
  readonly body: string;
};

/** Signs the body with the secrets of the endpoint, sends it once, and measures the exchange. */
export async function sendSigned(
  { sender, secrets }: Pick<AttemptOptions, 'sender' | 'secrets'>,
  { endpoint, eventId, at, body }: SignedRequest,
): Promise<{ readonly result: SendResult; readonly durationMs: number }> {
  const startedMs = performance.now();
  const headers = signatureHeaders({ id: eventId, timestamp: at, body, secrets: secrets.open(endpoint, at) });
  const result = await sender.send({ url: endpoint.url, headers, body });
  return { result, durationMs: performance.now() - startedMs };
}

/** Whether the endpoint accepted the event. */
export function isAccepted(result: SendResult): boolean {
  return result.kind === 'answered' && result.status >= 200 && result.status < 300;
}

export async function attemptDelivery(
  options: AttemptOptions,
  endpoint: DueEndpoint,
  { delivery, body }: Attempt,
): Promise<FinishedDelivery> {
  const at = options.clock();
  const eventId = webhookId(delivery.eventId);
  const { result, durationMs } = await sendSigned(options, { endpoint, eventId, at, body });
  const { body: answered, ...outcome } = outcomeOf(result, delivery, at);
  const storedBody = containsKey(endpoint, delivery) ? undefined : answered;
  const finished = { ...outcome, body: storedBody, at, durationMs };
  options.metrics.attempted(finished.state === 'delivered' ? 'delivered' : 'failed', durationMs / 1_000);
  return finished;
}

/**
 * Whether the delivery contains a license key. The answer may repeat it, and the database contains no keys.
 */
function containsKey({ includeKeys }: DueEndpoint, { type }: ClaimedDelivery): boolean {
  return includeKeys && type === 'license.issued';
}

type Outcome = Omit<FinishedDelivery, 'at' | 'durationMs'>;

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
