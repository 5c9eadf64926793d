// What the hub tells of its work while somebody traces it, on Node's diagnostics channels. Otherwise to tell costs a look at a flag.
import { channel, type TracingChannel, tracingChannel } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import type { DescMethod } from '@bufbuild/protobuf';
import type { Place } from './active.ts';

/** A request to the public port. Route and status are there at its end. */
export type Exchange = {
  readonly req: IncomingMessage;
  readonly requestId: string;
  readonly route: { readonly pattern: string } | undefined;
  readonly status: number | undefined;
};

/** An RPC as interceptors see it: served here, or asked of a core in another process. */
export type Rpc = {
  readonly request: {
    readonly method: DescMethod;
    /** `direct:///…` within the process. */
    readonly url: string;
    readonly header: Headers;
    readonly message: object;
  };
};

export type Statement = {
  /** The name it is prepared under; of others the first word. */
  readonly name: string;
  readonly operation: string;
  readonly database: { readonly name?: string; readonly host?: string; readonly port?: number };
};

/** Requests that are served together. `places`: of those that are traced. */
export type Batch = { readonly size: number; readonly places: readonly Place[] };

/** What became of a session is asked of a provider. */
export type Question = { readonly slot: string; readonly sessionId: () => string };

/** One request to a provider, and its answer. */
export type ProviderExchange = { readonly method: string; readonly host: string };

/** What the hub does by itself, about a callback or a session. */
export type Chore = {
  readonly name: 'callback job' | 'sweep';
  /** The id of one of them. */
  readonly about: () => string;
};

/** A callback that was journaled, and the session it names. */
export type Journaled = { readonly callbackId: string; readonly sessionId: string | undefined };

type Work<M extends object> = TracingChannel<Place | undefined, M>;

export const exchanges: Work<Exchange> = tracingChannel('hub:exchange');
export const rpcs: Work<Rpc> = tracingChannel('hub:rpc');
export const coreCalls: Work<Rpc> = tracingChannel('hub:core_call');
export const statements: Work<Statement> = tracingChannel('hub:statement');
export const batches: Work<Batch> = tracingChannel('hub:batch');
export const questions: Work<Question> = tracingChannel('hub:question');
export const providerExchanges: Work<ProviderExchange> = tracingChannel('hub:provider_exchange');
export const chores: Work<Chore> = tracingChannel('hub:chore');
export const journaled = channel('hub:journaled');
