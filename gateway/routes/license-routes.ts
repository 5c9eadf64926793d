// The license endpoints: each translates a REST request to one RPC and its response to JSON.
import { hash } from 'node:crypto';
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import { type Client, createClient, type Transport } from '@connectrpc/connect';
import { LicenseService } from '../../gen/hub/license/v1/license_service_pb.ts';
import { textMember } from '../body/read-body.ts';
import { type Guess, type GuessLimit, keySubject, licenseSubject } from '../limits/guess-limit.ts';
import { tagged } from '../server/conditional-response.ts';
import { LICENSE_OPERATIONS as about } from './license-openapi.ts';
import type { Operation } from './openapi-operation.ts';
import { type Call, queryParameter, type Route, type RouteResponse } from './route.ts';

/** Routes under /v1, served by the LicenseService behind `transport`. */
export function licenseRoutes(transport: Transport, guesses: GuessLimit | undefined): Route[] {
  const licenses = createClient(LicenseService, transport);
  const guard = (
    guess: Guess,
    kind: 'read' | 'write',
    ask: () => Promise<RouteResponse>,
  ): Promise<RouteResponse> => (guesses === undefined ? ask() : guesses.guard(guess, kind, ask));
  const byKey = (call: Call, ask: () => Promise<RouteResponse>): Promise<RouteResponse> => {
    const subject = keySubject(textMember(call.body, 'licenseKey') ?? '');
    return guard({ client: call.client, subject }, 'write', ask);
  };
  const checkStatus = (call: Call): Promise<RouteResponse> => {
    const fingerprint = queryParameter(call.query, 'fp');
    const ask = (): Promise<RouteResponse> => status(licenses, call, fingerprint);
    // Without a fingerprint there is nothing to guess.
    if (fingerprint === undefined) return ask();
    return guard({ client: call.client, subject: licenseSubject(call.param) }, 'read', ask);
  };
  const open = { limited: true, crossOrigin: true } as const;
  const post = (pattern: string, operation: Operation, serve: Serve): Route => {
    const handle = (call: Call) => byKey(call, () => serve(licenses, call));
    return { ...open, method: 'POST', pattern, about: operation, handle };
  };
  const ofApp = (pattern: string, operation: Operation, serve: Serve): Route => {
    const handle = (call: Call) => serve(licenses, call);
    return { ...open, method: 'GET', pattern, fieldNames: { app: 'slug' }, about: operation, handle };
  };
  return [
    post('/v1/activate', about.activate, activate),
    post('/v1/deactivate', about.deactivate, deactivate),
    {
      ...open,
      method: 'GET',
      pattern: '/v1/status/{licenseId}',
      fieldNames: { machine_fingerprint: 'fp' },
      about: about.status,
      handle: checkStatus,
    },
    ofApp('/v1/apps/{slug}/public-key', about.publicKey, publicKey),
    ofApp('/v1/apps/{slug}/jwks.json', about.jwks, jwks),
    ofApp('/v1/apps/{slug}/limits/free', about.freeLimits, freeLimits),
  ];
}

type Licenses = Client<typeof LicenseService>;

type Serve = (licenses: Licenses, call: Call) => Promise<RouteResponse>;

async function activate(licenses: Licenses, call: Call): Promise<RouteResponse> {
  const { body } = call;
  const machineLabel = textMember(body, 'machineLabel');
  const appVersion = textMember(body, 'appVersion');
  const request = {
    licenseKey: textMember(body, 'licenseKey') ?? '',
    machineFingerprint: textMember(body, 'machineFingerprint') ?? '',
    ...(machineLabel !== undefined && { machineLabel }),
    ...(appVersion !== undefined && { appVersion }),
  };
  const { license, publicKeyPem } = await licenses.activate(request, call.rpc);
  if (license === undefined) throw new Error('Activate answered without a license');
  return json({ ok: true, license, publicKeyPem });
}

async function deactivate(licenses: Licenses, call: Call): Promise<RouteResponse> {
  const { body } = call;
  const request = {
    licenseKey: textMember(body, 'licenseKey') ?? '',
    machineFingerprint: textMember(body, 'machineFingerprint') ?? '',
  };
  const { released } = await licenses.deactivate(request, call.rpc);
  return json({ ok: true, released });
}

async function status(
  licenses: Licenses,
  call: Call,
  machineFingerprint: string | undefined,
): Promise<RouteResponse> {
  const found = await licenses.checkStatus(
    { licenseId: call.param, ...(machineFingerprint !== undefined && { machineFingerprint }) },
    call.rpc,
  );
  const { seats, expiresAt, graceEndsAt, features, checkedAt } = found;
  if (seats === undefined || checkedAt === undefined)
    throw new Error('CheckStatus answered without seats or time');
  const limits = limitsOf(found.limits);
  return json({
    ok: true,
    licenseId: found.licenseId,
    state: 'active', // also in the grace; the other states are errors of the RPC
    seats: { limit: seats.limit, used: seats.used },
    expiresAt: expiresAt && rfc3339(expiresAt),
    graceEndsAt: graceEndsAt && rfc3339(graceEndsAt),
    limits: Object.keys(limits).length > 0 ? limits : undefined,
    features: features.length > 0 ? features : undefined,
    termsVersion: found.termsVersion > 0 ? found.termsVersion : undefined, // an older core sends none
    checkedAt: rfc3339(checkedAt),
    recheckAfterSeconds: found.recheckAfterSeconds,
  });
}

async function publicKey(licenses: Licenses, call: Call): Promise<RouteResponse> {
  const { publicKeyPem, kid } = await licenses.getPublicKey({ app: call.param }, call.rpc);
  return tagged(call, kid, 'application/x-pem-file', publicKeyPem);
}

async function jwks(licenses: Licenses, call: Call): Promise<RouteResponse> {
  const { keys } = await licenses.getJwks({ app: call.param }, call.rpc);
  const body = JSON.stringify({
    keys: keys.map(({ kty, crv, x, y, kid, alg, use }) => ({ kty, crv, x, y, kid, alg, use })),
  });
  return tagged(call, hash('sha256', body, 'base64url'), 'application/jwk-set+json', body);
}

async function freeLimits(licenses: Licenses, call: Call): Promise<RouteResponse> {
  const { limits } = await licenses.getFreeLimits({ app: call.param }, call.rpc);
  return json({ app: call.param, profile: 'free', limits: limitsOf(limits) });
}

function json(value: object): RouteResponse {
  return { status: 200, contentType: 'application/json', body: JSON.stringify(value) };
}

/** The contract limits these to ±(2^53−1), so a JSON number holds them exactly. */
function limitsOf(limits: { readonly [name: string]: bigint }): { [name: string]: number } {
  return Object.fromEntries(Object.entries(limits).map(([name, value]) => [name, Number(value)]));
}

/** UTC with milliseconds. */
function rfc3339(time: Timestamp): string {
  return timestampDate(time).toISOString();
}
