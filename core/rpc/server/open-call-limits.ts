// Limits the number of open calls and streams, so that no client takes all of them.
import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect';
import { Quota, type QuotaUse, releaseAll, takeAll } from '../../../lib/net/client-limits.ts';
import { accessRule } from '../../access/authorize.ts';
import { callerKey } from '../../access/caller.ts';
import { type Exchange, exchangeKey } from './exchange.ts';

/** Calls that need no token, health, unary or streaming. Each costs about 50 KB while it is open. */
export const PUBLIC_CALLS = { perConnection: 64, perClient: 256, total: 1_024 };
/** Streams with a token. A watched session or an export is one stream. */
export const STREAMS = { perToken: 256, total: 1_024 };

/** A place becomes free when a stream closes. */
const RETRY_AFTER_SECONDS = '5';

/** A place is taken until the exchange is closed, which may be long after the response. */
export function createCallLimits(onRefusal: () => void) {
  const connections = new Quota<unknown>(PUBLIC_CALLS.perConnection);
  const clients = new Quota<unknown>(PUBLIC_CALLS.perClient);
  const publicCalls = new Quota<unknown>(PUBLIC_CALLS.total);
  const tokens = new Quota<unknown>(STREAMS.perToken);
  const streams = new Quota<unknown>(STREAMS.total);

  const messages = new Map([
    [connections, `this connection has ${PUBLIC_CALLS.perConnection} calls without a token open`],
    [clients, `your address has ${PUBLIC_CALLS.perClient} calls without a token open`],
    [publicCalls, `the hub has ${PUBLIC_CALLS.total} calls without a token open`],
    [tokens, `this token has ${STREAMS.perToken} streams open`],
    [streams, `the hub has ${STREAMS.total} streams open`],
  ]);
  const admit = (exchange: Exchange, uses: readonly QuotaUse[]): void => {
    const full = takeAll(uses);
    if (full !== undefined) {
      onRefusal();
      throw new ConnectError(
        `${messages.get(full.quota)}; close some of them, or try again later`,
        Code.ResourceExhausted,
        { 'Retry-After': RETRY_AFTER_SECONDS },
      );
    }
    exchange.onClose(() => releaseAll(uses));
  };

  return {
    /** For a call that needs no token. @throws ConnectError ResourceExhausted */
    admitPublic({ method, values }: HandlerContext): void {
      const exchange = values.get(exchangeKey);
      if (exchange === undefined || !accessRule(method).public) return;
      admit(exchange, [
        { quota: connections, key: exchange.connection },
        { quota: clients, key: exchange.client },
        { quota: publicCalls, key: 'all' },
      ]);
    },
    /** For a stream whose caller is known. @throws ConnectError ResourceExhausted */
    admitStream({ method, values }: HandlerContext): void {
      const exchange = values.get(exchangeKey);
      if (exchange === undefined || method.methodKind === 'unary' || accessRule(method).public) return;
      // The caller is unknown while the database is unavailable. The call then fails in the interceptors.
      const key = values.get(callerKey)?.id ?? exchange.client;
      admit(exchange, [
        { quota: tokens, key },
        { quota: streams, key: 'all' },
      ]);
    },
  };
}
