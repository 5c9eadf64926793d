// What a payment provider's driver has to offer. One file per gateway under providers/, and a line in registry.ts.
import type { Clock } from '../clock.ts';
import type { Secret } from '../secret.ts';
import type { Money } from './money.ts';

export type PaymentDriver = {
  /** Its path under /v1/webhooks, its name in data: `gateway_one`. */
  readonly gateway: string;
  /** How the provider calls back, and what it is told then. */
  readonly callback: {
    readonly method: 'GET' | 'POST';
    readonly acknowledgement: { readonly body: string; readonly contentType: string };
    /** Fields that `readCallback` is given, and the journal keeps. */
    readonly reads: readonly string[];
    /** The field that names the payment by the id that proves it, if there is one: one of those that it `reads`. */
    readonly paymentField?: string;
    /** The fields that name the checkout by the provider's id, if there are any: the first one given counts. It `reads` them. */
    readonly checkoutFields?: readonly string[];
    /** Fields that the journal keeps for operators besides, unless one is longer than any that the provider sends: callback-fields.ts. */
    readonly shows?: readonly string[];
    /** Fields that are credentials or made from them: never journaled. */
    readonly unjournaled?: readonly string[];
  };
  /** Names of the credentials a slot needs; all of them secret. */
  readonly credentials: readonly string[];
  /** Options of a slot: the values each may have, the default first. */
  readonly options: Readonly<Record<string, readonly [string, ...string[]]>>;
  /** Base addresses of the provider's production API. A production slot talks to no other host. */
  readonly productionUrls: readonly string[];

  /** Reads the fields of a callback, of which it is given those it `reads`. @throws CallbackMalformed */
  readCallback(fields: CallbackFields): CallbackClaim;

  /** Creates the checkout. @throws ProviderUnavailable, ProviderRefused */
  createCheckout(access: ProviderAccess, checkout: CheckoutRequest): Promise<Checkout>;

  /**
   * Asks the provider what became of a session, by the ids that the hub stored. A validation id of a callback can only
   * shorten the way to a payment: what the provider says about it, or fails to say, never replaces that question.
   * May move money that the customer has authorized (execute); must be harmless to repeat.
   *
   * @throws ProviderUnavailable if the answer is not known: the session's status has to stay as it is.
   */
  verify(access: ProviderAccess, question: VerificationQuestion): Promise<Verdict>;

  /**
   * Every payment that stands at the provider for a session that is paid, whatever its amount; the one that settled it
   * may be left out. By queries only: it moves no money. A payment id that the provider does not answer hides no other.
   *
   * @throws ProviderUnavailable if nothing is known
   */
  findPayments(access: ProviderAccess, question: PaymentsQuestion): Promise<FoundPayments>;

  /** A harmless call that shows whether the credentials work. @throws ProviderUnavailable, ProviderRefused */
  testCredentials(access: ProviderAccess): Promise<{ readonly detail: string }>;
};

/** What a driver works with: the slot, opened, and the means to call its provider. */
export type ProviderAccess = {
  readonly slotId: string;
  readonly baseUrl: string;
  readonly credentials: Secret<Readonly<Record<string, string>>>;
  readonly options: Readonly<Record<string, string>>;
  /** HTTP to this provider: own connection pool, time-outs, no redirects, bounded answers. */
  readonly http: ProviderHttp;
  /** Access tokens of this slot, shared by all hubs. */
  readonly tokens: TokenCache;
  readonly clock: Clock;
  /** Notes a question and its answer for the session's story. Details hold no secrets. */
  readonly observe: (step: VerificationStep) => void;
};

export type ProviderRequest = {
  readonly method: 'GET' | 'POST';
  /** Absolute, below the slot's base URL. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds for the whole exchange. */
  readonly timeoutMs?: number;
};

export type ProviderHttp = {
  /** The status and the body as text, whatever the status is. @throws ProviderUnavailable */
  send(request: ProviderRequest): Promise<{ readonly status: number; readonly body: string }>;
};

export type GrantedToken = { readonly token: string; readonly expiresInSeconds: number };

export type TokenCache = {
  /**
   * The slot's current token. `grant` is called by one caller of all hubs at a time, when there is none, when it is
   * about to expire, or when it is the `rejected` one. @throws whatever `grant` throws
   */
  get(grant: () => Promise<GrantedToken>, rejected?: string): Promise<string>;
};

/** Fields by name: `CallbackFields<(typeof READS)[number]>` in a driver, so that it names all that it reads. */
export type CallbackFields<Name extends string = string> = { readonly [name in Name]?: string };

/** What a callback says. Untrusted: anybody can send one. */
export type CallbackClaim = {
  /** `ignored`: a status of the provider's that is of no consequence. */
  readonly outcome: 'paid' | 'failed' | 'cancelled' | 'unknown' | 'ignored';
  /** The status as it was sent; empty if there was none. */
  readonly status: string;
  readonly merchantTransactionId?: string;
  readonly providerPaymentId?: string;
  /** The provider's validation id of the payment, if the callback has one. */
  readonly validationId?: string;
};

export type CheckoutRequest = {
  readonly sessionId: string;
  /** The hub's id for the provider, at most 30 characters of A-Z, a-z, 0-9. */
  readonly merchantTransactionId: string;
  readonly amount: Money;
  /** `{base_url}/v1/webhooks/{gateway}?session_id=chs_…`, at most 255 characters. */
  readonly callbackUrl: string;
  readonly orderReference: string;
  readonly customer: Readonly<Partial<Record<CustomerField, string>>>;
};

export type CustomerField = 'name' | 'email' | 'phone' | 'address' | 'city' | 'postcode' | 'country';

export type Checkout = { readonly providerPaymentId: string; readonly checkoutUrl: string };

export type VerificationQuestion = {
  readonly merchantTransactionId: string;
  /** The stored one: never one that a callback brought. */
  readonly providerPaymentId: string;
  readonly amount: Money;
  /** From a callback, so perhaps forged. A driver may ask about it first, and must still ask its own question. */
  readonly validationId?: string;
  /** Whether the session is already paid, and only its reversal is of interest: nothing may be executed then. */
  readonly settled: boolean;
};

/** What proves a payment: no other session of the gateway can be paid by any of it. */
export type PaymentProof = {
  /** The provider's id of the payment. */
  readonly gatewayTransactionId: string;
  /** The bank's, where the provider tells it. */
  readonly bankTransactionId?: string;
};

/** How risky the provider rates a payment: 0 is safe. */
export type Risk = {
  readonly level: number;
  /** In the provider's words; may be empty. */
  readonly title: string;
};

export type PaymentsQuestion = {
  readonly merchantTransactionId: string;
  /** The stored one. */
  readonly providerPaymentId: string;
  /** Other ids of payments, from callbacks: where to look as well. To be checked against the session like any answer. */
  readonly claimedPaymentIds: readonly string[];
};

export type FoundPayments = {
  readonly payments: readonly FoundPayment[];
  /** Those of `claimedPaymentIds` that the provider did not answer, with the reason: to be asked about again. */
  readonly unanswered: ReadonlyMap<string, string>;
};

/** A payment for a session that stands at the provider. */
export type FoundPayment = PaymentProof & {
  /** The provider's id of the checkout it was made in. */
  readonly providerPaymentId: string;
  readonly amount: Money;
};

/** What the provider says. `detail` is a sentence for people, without secrets. */
export type Verdict =
  | ({ readonly kind: 'paid'; readonly detail: string; readonly risk?: Risk } & PaymentProof)
  /** The provider knows that nothing was or will be paid. */
  | { readonly kind: 'not_paid'; readonly status: 'failed' | 'cancelled'; readonly detail: string }
  /** Nothing final: the customer may still pay. */
  | { readonly kind: 'pending'; readonly detail: string }
  /** It was paid, and no longer stands. */
  | { readonly kind: 'reversed'; readonly detail: string }
  /** Something was paid that is not this session: another transaction, amount or currency. */
  | { readonly kind: 'mismatch'; readonly detail: string };

export type VerificationStep = {
  /** `validate`, `execute`, `query`, … */
  readonly operation: string;
  readonly outcome: Verdict['kind'] | 'unavailable';
  readonly detail: string;
  readonly askedAt: Date;
  readonly durationMs: number;
};

/** The provider did not answer, or not in a way that says anything: to be asked again. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
}

/** The provider answered, and will not do what it was asked: asking again is of no use. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused';
}

/** A callback that no provider sends. `field` is at fault; `message` says what it should be. */
export class CallbackMalformed extends Error {
  override readonly name = 'CallbackMalformed';
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
