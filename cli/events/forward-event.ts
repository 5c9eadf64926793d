// Posts events to a receiver on the developer's machine, exactly as the hub delivers them to endpoints.
import { lookup } from 'node:dns';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { type AddressPolicy, createAddressPolicy } from '../../core/event/delivery/address-policy.ts';
import { formatPayload } from '../../core/event/delivery/payload.ts';
import { createWebhookSender } from '../../core/event/delivery/send-webhook.ts';
import {
  checkWebhookSecret,
  createWebhookSecret,
  signatureHeaders,
} from '../../core/event/delivery/signature.ts';
import { Secret } from '../../core/secret.ts';
import type { Event } from '../../gen/hub/event/v1/event_pb.ts';
import { requireField } from '../connect/calls.ts';
import { usageError } from '../errors/failure.ts';

export type Forwarded = {
  readonly durationMs: number;
  /** Status of the answer; undefined without an answer. */
  readonly status?: number;
  /** Why there is no answer. */
  readonly problem?: string;
};

/** Unlike in the hub, all addresses are allowed, and the operating system resolves names. */
const ANY_ADDRESS: AddressPolicy = {
  checkUrl: createAddressPolicy(['0.0.0.0/0', '::/0']).checkUrl,
  checkAddress: () => undefined,
  lookups: { 'http:': lookup, 'https:': lookup },
};

/**
 * @param url where to post
 * @param given the secret to sign with, `whsec_…`; default: a new one
 * @throws CliError (usage) that never contains the secret
 */
export function createForwarder(url: string, given: string | undefined) {
  if (!/^https?:\/\//i.test(url))
    throw usageError('--forward-to: the URL must begin with http:// or https://.');
  const fault = ANY_ADDRESS.checkUrl(url);
  if (fault !== undefined) throw usageError(`--forward-to: the URL ${fault}.`);
  const secret = given === undefined ? createWebhookSecret() : new Secret(given);
  const problem = checkWebhookSecret(secret);
  if (problem !== undefined) throw usageError(`--secret: the secret ${problem}.`);
  const sender = createWebhookSender({ policy: ANY_ADDRESS });

  return {
    /** `whsec_…` */
    secret: secret.reveal(),
    /** Posts one event. Does not reject if the receiver fails. */
    async forward({ eventId, type, createdAt, sequence, data }: Event): Promise<Forwarded> {
      const at = timestampDate(requireField(createdAt, 'creation time'));
      const body = formatPayload({ type, at, number: Number(sequence), data: data ?? null });
      const headers = signatureHeaders({ id: eventId, timestamp: new Date(), body, secrets: [secret] });
      const startedMs = performance.now();
      const result = await sender.send({ url, headers, body });
      const durationMs = Math.round(performance.now() - startedMs);
      if (result.kind === 'answered') return { durationMs, status: result.status };
      return { durationMs, problem: result.problem };
    },
  };
}
