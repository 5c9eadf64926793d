// Gives drivers access to the providers of slots: credentials, connections, access tokens and options. Limits
// the concurrent calls to each provider.
//
// Each slot has its own connections, with limits on time and size, no redirects and no secrets in errors.
import { SpanKind } from '@opentelemetry/api';
import type { Pool } from 'pg';
import type { Pool as HttpPool } from 'undici';
import { withDeadline } from '../../../lib/net/deadline.ts';
import { failureReason } from '../../../lib/net/failure-reason.ts';
import { onDemand } from '../../../lib/on-demand.ts';
import { failSpan, inSpan } from '../../../lib/tracing/spans.ts';
import { HubError } from '../../errors.ts';
import { Secret } from '../../secret.ts';
import type { Sealer } from '../../storage/secrets/sealing.ts';
import { createBatcher } from '../../storage/sql/batcher.ts';
import type { Environment, Slot } from '../entities.ts';
import {
  type PaymentDriver,
  type ProviderAccess,
  type ProviderHttp,
  ProviderUnavailable,
  type TokenCache,
  type VerificationStep,
} from '../providers/driver.ts';
import type { AdminDependencies } from '../shared-dependencies.ts';
import { createTokenCache } from './token-cache.ts';

/**
 * Opens a slot: its driver and its credentials. `version` is that of a session that was just read. A slot
 * that has not changed since its last use is not read again.
 */
export type Providers = {
  forSlot(
    slotId: string,
    observe: (step: VerificationStep) => void,
    version?: string,
  ): Promise<{ readonly driver: PaymentDriver; readonly access: ProviderAccess }>;
};

export type SlotAccess = Providers & {
  /** Closes the connections to all providers after the calls in progress. */
  close(): Promise<void>;
};

export type SlotAccessOptions = Omit<AdminDependencies, 'db'> & {
  readonly pool: Pool;
  /** The maximum of milliseconds for an exchange with a provider. Default: 30 000. */
  readonly timeoutMs?: number;
  /** Aborts all exchanges, and the waits for access tokens. */
  readonly signal?: AbortSignal;
};

/**
 * Reads the slot for each use, so that a rotation takes effect at once on every hub. A caller that has just
 * read a session passes the version of its slot instead. Concurrent reads share a statement.
 */
export function createSlotAccess(options: SlotAccessOptions): SlotAccess {
  const { pool, sealer, clock, driverOf, timeoutMs, signal } = options;
  const connections = new Map<string, Connection>();
  const readSlot = createBatcher<string, StoredSlot>({
    run: async (ids) => {
      const slots = await readSlots(pool, [...new Set(ids)]);
      return ids.map((id) => slots.get(id) ?? new Error(`slot ${id} is gone`));
    },
  });

  const connect = (slot: StoredSlot, driver: PaymentDriver, previous: Connection | undefined): Connection => {
    const { id, environment, sealedCredentials } = slot;
    if (previous?.slot.sealedCredentials.equals(sealedCredentials)) return { ...previous, slot };
    const credentials = openCredentials(sealer, id, sealedCredentials);
    // The URL of a slot never changes, so a rotation keeps its connections and the calls in progress.
    const baseUrl = driver.rootUrl?.(slot.baseUrl) ?? slot.baseUrl;
    const { productionUrls } = driver;
    const http =
      previous?.http ?? createProviderHttp({ baseUrl, environment, productionUrls, timeoutMs, signal });
    const tokens = createTokenCache({ pool, sealer, clock, slotId: id, signal });
    return { slot, credentials, http, tokens };
  };

  return {
    async forSlot(slotId, observe, version) {
      const used = connections.get(slotId)?.slot;
      const slot = used !== undefined && used.version === version ? used : await readSlot(slotId);
      const driver = driverOf(slot.gateway);
      const connection = connect(slot, driver, connections.get(slotId));
      connections.set(slotId, connection);
      const { credentials, http, tokens } = connection;
      const options = withDefaults(driver, slot.options);
      return {
        driver,
        access: { slotId, baseUrl: slot.baseUrl, credentials, options, http, tokens, clock, observe },
      };
    },

    async close() {
      const open = [...connections.values()];
      connections.clear();
      await Promise.all(open.map(({ http }) => http.close()));
    },
  };
}

type Connection = {
  /** As it was read last. Its credentials differ after a rotation. */
  readonly slot: StoredSlot;
  readonly credentials: Secret<Credentials>;
  readonly http: ClosableProviderHttp;
  readonly tokens: TokenCache;
};

type StoredSlot = Pick<Slot, 'id' | 'gateway' | 'environment' | 'baseUrl' | 'options'> & {
  readonly sealedCredentials: Buffer;
  /** Changes with each update of the row. */
  readonly version: string;
};

async function readSlots(pool: Pool, ids: readonly string[]): Promise<Map<string, StoredSlot>> {
  const { rows } = await pool.query<StoredSlot>({
    name: 'open_slots',
    text: `select id, gateway, environment, base_url as "baseUrl", options,
                  sealed_credentials as "sealedCredentials", xmin::text as version
           from slot where id = any($1)`,
    values: [ids],
  });
  return new Map(rows.map((slot) => [slot.id, slot]));
}

/** A slot that is older than an option of its driver has the option's default. */
export function withDefaults(
  driver: PaymentDriver,
  options: Readonly<Record<string, string>>,
): Record<string, string> {
  const defaults = Object.entries(driver.options).map(([name, [first]]) => [name, first] as const);
  return { ...Object.fromEntries(defaults), ...options };
}

export type Credentials = Readonly<Record<string, string>>;

export function sealCredentials(sealer: Sealer, slotId: string, credentials: Credentials): Buffer {
  const plaintext = Buffer.from(JSON.stringify(credentials));
  const sealed = sealer.seal(plaintext, sealedFor(slotId));
  plaintext.fill(0);
  return sealed;
}

/** @throws Error, without secrets, if no master key opens it */
export function openCredentials(sealer: Sealer, slotId: string, sealed: Uint8Array): Secret<Credentials> {
  const plaintext = sealer.open(sealed, sealedFor(slotId));
  const credentials: Credentials = JSON.parse(plaintext.toString());
  plaintext.fill(0);
  return new Secret(credentials);
}

/** The associated data of a slot's credentials: they cannot be opened as those of another slot. */
export function sealedFor(slotId: string): string {
  return `slot:${slotId}`;
}

type ProviderHttpOptions = {
  /** The slot's base URL: `http:` or `https:`, without credentials and query. */
  readonly baseUrl: string;
  readonly environment: Environment;
  /** The driver's. In production the base URL has to be on one of their hosts, over TLS. */
  readonly productionUrls: readonly string[];
  /** The maximum of milliseconds for an exchange, whatever the request says. Default: 30 000. */
  readonly timeoutMs?: number | undefined;
  /** Aborts all exchanges. */
  readonly signal?: AbortSignal | undefined;
};

export type ClosableProviderHttp = ProviderHttp & {
  /** Waits for the exchanges in progress and accepts no new ones. */
  close(): Promise<void>;
};

const TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_CONNECTIONS = 64;
const REASONS = { UND_ERR_RES_EXCEEDED_MAX_SIZE: 'its response is larger than 1 MiB' };

/** @throws HubError `base_url_invalid` for a production slot whose base URL is not the provider's */
export function createProviderHttp(options: ProviderHttpOptions): ClosableProviderHttp {
  const base = new URL(options.baseUrl);
  if (options.environment === 'production') requireProductionHost(base, options.productionUrls);
  const { timeoutMs: longestMs = TIMEOUT_MS, signal: ending } = options;
  const folder = base.pathname.replace(/\/*$/, '/');
  const pool = onDemand(async (): Promise<HttpPool> => {
    const { default: undici } = await import('undici'); // several MB that many hubs never need
    return new undici.Pool(base.origin, {
      connections: MAX_CONNECTIONS,
      // Explicit, because an environment variable could turn it off.
      connect: { timeout: CONNECT_TIMEOUT_MS, rejectUnauthorized: true },
      allowH2: false,
      maxResponseSize: MAX_ANSWER_BYTES,
      // The signal of each exchange limits its total time, which these per-read timeouts do not.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  });

  let closing: Promise<void> | undefined;

  const http: ClosableProviderHttp = {
    async send({ method, url, headers = {}, body, timeoutMs = longestMs }) {
      const limitMs = Math.min(timeoutMs, longestMs);
      const target = URL.parse(url);
      if (target?.origin !== base.origin || !target.pathname.startsWith(folder)) {
        throw new ProviderUnavailable(`the request address is not below ${base.host}${folder}`);
      }
      if (closing !== undefined)
        throw new ProviderUnavailable(`no answer from ${base.host}: its connections are closed`);
      try {
        return await withDeadline(limitMs, ending, async (signal) => {
          const answer = await (pool.value ?? (await pool.get())).request({
            method,
            path: target.pathname + target.search,
            headers: { 'user-agent': 'hubctl', ...headers },
            body: body ?? null,
            signal,
          });
          if (answer.statusCode >= 300 && answer.statusCode < 400) {
            answer.body.on('error', () => {}).destroy(); // the body is not needed
            throw new ProviderUnavailable(`${base.host} redirects (HTTP ${answer.statusCode})`);
          }
          return { status: answer.statusCode, body: await answer.body.text() };
        });
      } catch (error) {
        if (error instanceof ProviderUnavailable) throw error;
        // Without the cause, which may contain the query and headers of the request.
        throw new ProviderUnavailable(
          `no answer from ${base.host}: ${failureReason(error, limitMs, REASONS)}`,
        );
      }
    },
    close() {
      closing ??= (async () => (await pool.existing())?.close())();
      return closing;
    },
  };
  const send: ProviderHttp['send'] = (request) => {
    // Neither the path nor the query, which may hold credentials. No trace context is sent to providers.
    const attributes = { 'http.request.method': request.method, 'server.address': base.hostname };
    return inSpan(request.method, { kind: SpanKind.CLIENT, attributes }, async (span) => {
      const response = await http.send(request);
      span.setAttribute('http.response.status_code', response.status);
      if (response.status >= 400) failSpan(span, String(response.status));
      return response;
    });
  };
  return { ...http, send };
}

function requireProductionHost(base: URL, productionUrls: readonly string[]): void {
  const origins = productionUrls.map((url) => new URL(url).origin);
  if (base.protocol === 'https:' && origins.includes(base.origin)) return;
  throw new HubError('base_url_invalid', `a production slot must be on ${origins.join(' or ')}`, {
    field: 'baseUrl',
  });
}

export type ProviderConcurrency = ReturnType<typeof createProviderConcurrency>;

/** Calls that may wait, for each that may run. */
const WAITING_PER_PLACE = 16;

/** `limit`: calls of one slot that run at the same time. `onRejected` gets the name of the slot. */
export function createProviderConcurrency(limit: number, onRejected: (slot: string) => void) {
  const slots = new Map<string, { running: number; readonly waiting: (() => void)[] }>();
  return {
    /** Runs `call` when a place is free. @throws ProviderUnavailable at once if too many calls wait */
    async run<T>(name: string, call: () => Promise<T>): Promise<T> {
      const slot = slots.get(name) ?? { running: 0, waiting: [] };
      slots.set(name, slot);
      if (slot.running < limit) slot.running += 1;
      else if (slot.waiting.length >= limit * WAITING_PER_PLACE) {
        onRejected(name);
        throw new ProviderUnavailable('too many other calls to this provider are waiting');
      } else await new Promise<void>((resolve) => slot.waiting.push(resolve));
      try {
        return await call();
      } finally {
        // The next call takes over the place, so the count stays.
        const next = slot.waiting.shift();
        if (next !== undefined) next();
        else if (--slot.running === 0) slots.delete(name);
      }
    },
    load(name: string) {
      const slot = slots.get(name);
      return { running: slot?.running ?? 0, waiting: slot?.waiting.length ?? 0 };
    },
  };
}
