// Signs webhooks by HMAC-SHA-256, as Standard Webhooks 1.0 specifies (https://www.standardwebhooks.com).
import { createHmac, randomBytes } from 'node:crypto';
import { Secret } from '../../secret.ts';

export type SignedMessage = {
  /** The same for each attempt to deliver the message. */
  readonly id: string;
  /** The time of this attempt. */
  readonly timestamp: Date;
  readonly body: string | Uint8Array;
  /** At least one, each `whsec_` and Base64. During a rotation, the new one and the old one. */
  readonly secrets: readonly Secret<string>[];
};

export type SignatureHeaders = {
  readonly 'webhook-id': string;
  /** Seconds since 1970. */
  readonly 'webhook-timestamp': string;
  /** A signature for each secret, separated by spaces: `v1,` and the Base64 of the HMAC. */
  readonly 'webhook-signature': string;
};

const PREFIX = 'whsec_';
const NEW_SECRET_BYTES = 32;
const MIN_SECRET_BYTES = 24;
const MAX_SECRET_BYTES = 64;

/** Creates a secret of 32 random bytes. */
export function createWebhookSecret(random: (size: number) => Buffer = randomBytes): Secret<string> {
  return new Secret(PREFIX + random(NEW_SECRET_BYTES).toString('base64'));
}

/** Returns why a secret is invalid, such as `must encode 24 to 64 bytes`; undefined if it is valid. */
export function checkWebhookSecret(secret: Secret<string>): string | undefined {
  const text = secret.reveal();
  const key = Buffer.from(text.slice(PREFIX.length), 'base64');
  if (!text.startsWith(PREFIX) || text !== PREFIX + key.toString('base64')) {
    return `must be ${PREFIX} and Base64 with padding`;
  }
  if (key.length < MIN_SECRET_BYTES || key.length > MAX_SECRET_BYTES) {
    return `must encode ${MIN_SECRET_BYTES} to ${MAX_SECRET_BYTES} bytes`;
  }
  return undefined;
}

/** Returns the headers that prove the origin, the time and the content of a message. */
export function signatureHeaders({ id, timestamp, body, secrets }: SignedMessage): SignatureHeaders {
  const seconds = Math.floor(timestamp.getTime() / 1000);
  const sign = (secret: Secret<string>): string => {
    const key = Buffer.from(secret.reveal().slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${seconds}.`).update(body).digest('base64')}`;
  };
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}
