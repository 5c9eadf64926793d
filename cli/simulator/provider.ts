// Types that the simulated providers share: calls, responses and callbacks.
import type { IncomingHttpHeaders } from 'node:http';
import type { Fault, FaultKind, OperationName } from './faults.ts';
import type { Attempt, Outcome, Payment } from './payment.ts';

export type Call = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type JsonAnswer = { readonly status: number; readonly json: Readonly<Record<string, unknown>> };

export type Operation = {
  readonly name: OperationName;
  /** The method and the path, such as `GET /v1/charges/{id}`. A segment such as `{id}` stands for any. */
  readonly at: `${'GET' | 'POST'} ${string}`;
  /** Whether a call of the path is this operation. Default: every call. */
  readonly matches?: (call: Call) => boolean;
  /** The payment of the call, if it names one. Default: it names none. */
  readonly find?: (call: Call) => Payment | undefined;
  readonly answer: (call: Call) => JsonAnswer;
  /** Faults that only this operation implements. */
  readonly faults?: Partial<Record<FaultKind, (call: Call, fault: Fault) => JsonAnswer>>;
};

/** A request to the merchant's callback URL. */
export type CallbackRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** A form, unless `headers` say otherwise. */
  readonly body?: string;
  /** The headers of one attempt. */
  readonly headers?: () => Readonly<Record<string, string>>;
};

export type Provider = {
  readonly operations: readonly Operation[];
  /** The callback of the customer's decision; undefined if there is none or the merchant gave no URL. */
  readonly callback: (payment: Payment, attempt: Attempt) => CallbackRequest | undefined;
  /** A forged callback: the URL and ids are known, the secret is not. */
  readonly forgery: (payment: Payment, claim: Outcome) => CallbackRequest | undefined;
};

export function ok(json: Readonly<Record<string, unknown>>): JsonAnswer {
  return { status: 200, json };
}

/** Whether a browser may be redirected there. */
export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
