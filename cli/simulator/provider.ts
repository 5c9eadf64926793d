// What the two simulated providers have in common: calls, answers, and the callbacks they make.
import type { IncomingHttpHeaders } from 'node:http';
import type { FaultKind, OperationName } from './faults.ts';
import type { Attempt, Outcome, Payment } from './ledger.ts';

export type Call = {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

export type JsonAnswer = { readonly status: number; readonly json: Readonly<Record<string, unknown>> };

/** An operation of a provider's API. */
export type Operation = {
  readonly name: OperationName;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** The payment that the call is about, if it names one. */
  readonly find: (call: Call) => Payment | undefined;
  readonly answer: (call: Call) => JsonAnswer;
  /** Faults that only this operation knows how to have. */
  readonly faults?: Partial<Record<FaultKind, (call: Call) => JsonAnswer>>;
};

/** A call of the merchant's callback address. */
export type CallbackRequest = {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  /** A form. */
  readonly body?: string;
};

export type Provider = {
  readonly operations: readonly Operation[];
  /** What tells the merchant of the customer's decision; undefined if the merchant gave no address. */
  readonly callback: (payment: Payment, attempt: Attempt) => CallbackRequest | undefined;
  /** What somebody else could send who knows the callback address and the ids, but no secret. */
  readonly forgery: (payment: Payment, claim: Outcome) => CallbackRequest | undefined;
};

export function ok(json: Readonly<Record<string, unknown>>): JsonAnswer {
  return { status: 200, json };
}

/** An address that a browser may be sent to. */
export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}
