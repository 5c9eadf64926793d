// OpenAPI descriptions of the license endpoints.
import { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import type { JsonSchema, Operation } from './openapi-operation.ts';

const { activate, deactivate, checkStatus, getPublicKey, getJwks, getFreeLimits } = LicenseService.method;

const OK: JsonSchema = { type: 'boolean', const: true };
const INSTANT: JsonSchema = { type: 'string', format: 'date-time' };
const SLUG: JsonSchema = { type: 'string', pattern: '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$' };
const LICENSE_ID: JsonSchema = { type: 'string', pattern: '^lic_[0-9a-z]{26}$' };
/** 32 bytes in base64url, such as the SHA-256 that is the id of a key. */
const BYTES_32: JsonSchema = { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' };
/** -1 means unlimited. JSON numbers are exact up to 2^53 - 1. */
const LIMITS: JsonSchema = {
  type: 'object',
  additionalProperties: { type: 'integer', format: 'int64', minimum: -1, maximum: Number.MAX_SAFE_INTEGER },
};
/** Names of features. */
const NAMES: JsonSchema = {
  type: 'array',
  items: { type: 'string', pattern: '^[A-Za-z][A-Za-z0-9._-]{0,63}$' },
};

/** The payload that core/license/keys/sign-license.ts signs. Later versions may add signed members. */
const SIGNED_LICENSE: JsonSchema = {
  title: 'SignedLicense',
  type: 'object',
  description:
    'The application stores it and verifies it offline. The signature covers the RFC 8785 form of the object without its `signature` member, so keep all members, including unknown ones.',
  properties: {
    licenseId: { ...LICENSE_ID, description: 'License identifier.' },
    app: { ...SLUG, description: 'Slug of the app.' },
    seatId: { type: 'string', pattern: '^seat_[0-9a-z]{26}$', description: 'Seat of this machine.' },
    machineFingerprint: { type: 'string', description: 'As the application sent it.' },
    customer: { type: 'string', description: 'The customer.' },
    limits: { ...LIMITS, description: 'Limits by name; -1 means unlimited.' },
    features: {
      ...NAMES,
      description: 'Features that the license unlocks, sorted; absent if there are none.',
    },
    metadata: {
      type: 'object',
      additionalProperties: { type: 'string' },
      description: "The vendor's own data, as far as the license's terms sign it; absent if they do not.",
    },
    termsVersion: {
      type: 'integer',
      format: 'int32',
      minimum: 1,
      description: 'Counts the changes of the terms, from 1. If a status has another, activate again.',
    },
    issuedAt: { ...INSTANT, description: 'When this copy was signed.' },
    expiresAt: { ...INSTANT, description: 'When the license expires; absent if never.' },
    graceEndsAt: {
      ...INSTANT,
      description: 'Until when the license stays valid after `expiresAt`; absent if it has no grace.',
    },
    leaseExpiresAt: {
      ...INSTANT,
      description: 'Until when this copy is valid without contact to the hub. Activating again renews it.',
    },
    kid: { ...BYTES_32, description: 'Id of the signing key: its RFC 7638 thumbprint.' },
    alg: { type: 'string', const: 'ES256' },
    signature: {
      type: 'string',
      pattern: '^[A-Za-z0-9_-]{86}$',
      description: 'Base64url of the 64-byte r||s (IEEE P1363) ECDSA P-256 signature with SHA-256.',
    },
  },
  required: [
    ...['licenseId', 'app', 'seatId', 'machineFingerprint', 'termsVersion', 'issuedAt'],
    ...['kid', 'alg', 'signature'],
  ],
};

/** RFC 7518 section 6.2. */
const JWK: JsonSchema = {
  type: 'object',
  properties: {
    kty: { type: 'string', const: 'EC' },
    crv: { type: 'string', const: 'P-256' },
    x: { ...BYTES_32, description: 'X coordinate: 32 bytes in base64url.' },
    y: { ...BYTES_32, description: 'Y coordinate: 32 bytes in base64url.' },
    kid: { ...BYTES_32, description: 'RFC 7638 thumbprint.' },
    alg: { type: 'string', const: 'ES256' },
    use: { type: 'string', const: 'sig' },
  },
  required: ['kty', 'crv', 'x', 'y', 'kid', 'alg', 'use'],
};

export const LICENSE_OPERATIONS = {
  activate: {
    id: 'activate',
    tag: 'Licenses',
    summary: 'Bind a machine to a license',
    rpc: activate,
    response: { description: 'The machine has a seat.', members: { ok: OK, license: SIGNED_LICENSE } },
    problems: [
      ...['license_key_unknown', 'seat_limit_reached'],
      ...['license_expired', 'license_revoked', 'license_suspended'],
    ],
  },
  deactivate: {
    id: 'deactivate',
    tag: 'Licenses',
    summary: 'Release the seat of a machine',
    rpc: deactivate,
    response: { description: 'The machine has no seat now.', members: { ok: OK } },
    problems: ['license_key_unknown', 'seat_unknown'],
  },
  status: {
    id: 'checkStatus',
    tag: 'Licenses',
    summary: 'Check a license, and optionally a machine',
    rpc: checkStatus,
    response: {
      description: 'The license is valid. If the request names a machine, it has a seat.',
      members: {
        ok: OK,
        licenseId: LICENSE_ID,
        state: {
          type: 'string',
          const: 'active',
          description: 'Always `active`, also in the grace: other states are reported as problems.',
        },
        limits: LIMITS,
        features: NAMES,
      },
      optional: ['expiresAt', 'graceEndsAt', 'limits', 'features'],
    },
    problems: [
      ...['license_unknown', 'license_expired', 'license_revoked', 'license_suspended'],
      'seat_not_active',
    ],
  },
  publicKey: {
    id: 'getPublicKey',
    tag: 'Keys and limits',
    summary: "Get the public half of an app's active signing key",
    rpc: getPublicKey,
    response: {
      description: 'The key.',
      contentType: 'application/x-pem-file',
      schema: { type: 'string', description: 'SubjectPublicKeyInfo in PEM.' },
      tagged: true,
    },
    problems: ['app_unknown'],
  },
  jwks: {
    id: 'getJwks',
    tag: 'Keys and limits',
    summary: 'Get all keys that verify licenses of an app',
    rpc: getJwks,
    response: {
      description: 'A JSON Web Key Set.',
      contentType: 'application/jwk-set+json',
      members: { keys: { type: 'array', items: JWK } },
      tagged: true,
    },
    problems: ['app_unknown'],
  },
  freeLimits: {
    id: 'getFreeLimits',
    tag: 'Keys and limits',
    summary: 'Get the limits of a client without a license',
    rpc: getFreeLimits,
    response: {
      description: 'The limits.',
      members: {
        app: { ...SLUG, description: 'Slug of the app.' },
        profile: { type: 'string', const: 'free' },
        limits: LIMITS,
      },
    },
    problems: ['app_unknown', 'limit_profile_unknown'],
  },
} as const satisfies { [name: string]: Operation };
