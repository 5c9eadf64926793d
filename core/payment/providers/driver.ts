// What a payment provider's driver has to offer. One file per gateway under providers/, and a line in
// registry.ts.
import type { Clock } from '../../clock.ts';
import type { Secret } from '../../secret.ts';
import type { Money } from '../money.ts';

export type PaymentDriver = {
  /** The path under /v1/webhooks and the name in data: `gateway_one`. */
  readonly gateway: string;
  /** The callback's method, fields and acknowledgement. */
  readonly callback: {
    readonly method: 'GET' | 'POST';
    readonly acknowledgement: { readonly body: string; readonly contentType: string };
    /** Whether the customer's browser brings the callbacks. It then goes on to the shop. */
    readonly isFromBrowser?: true;
    /** Fields that `readCallback` is given, and the journal keeps. */
    readonly reads: readonly string[];
    /** The field with the id that proves the payment. `readCallback` has to read it. */
    readonly paymentField?: string;
    /**
     * The fields with the provider's id of the checkout; the first one given counts. `readCallback` has to
     * read them.
     */
    readonly checkoutFields?: readonly string[];
    /** Fields that the journal stores only for operators, up to a maximum size: see registry.ts. */
    readonly shows?: readonly string[];
    /** Credentials, and fields derived from them: never journaled. */
    readonly unjournaled?: readonly string[];
    /** For a provider that signs the body of its callbacks: reads the fields from a body in JSON. */
    readonly signed?: SignedCallbacks;
  };
  /** The names of the credentials of a slot. All of them are secret. */
  readonly credentials: readonly string[];
  /** The options of a slot with their allowed values, the default first. */
  readonly options: Readonly<Record<string, readonly [string, ...string[]]>>;
  /** The base URLs of the provider's production API. A production slot connects to no other host. */
  readonly productionUrls: readonly string[];
  /**
   * The common prefix of the URLs of all requests of a slot, for a provider with several APIs on one host.
   * Default: the slot's base URL.
   */
  rootUrl?(baseUrl: string): string;

  /** Parses the claim. Gets only the fields in `reads`. @throws CallbackMalformed */
  readCallback(fields: CallbackFields): CallbackClaim;

  /** Creates the checkout. @throws ProviderUnavailable, ProviderRefused */
  createCheckout(access: ProviderAccess, checkout: CheckoutRequest): Promise<Checkout>;

  /**
   * Verifies a session by the ids that the hub stored. A validation id from a callback is only a shortcut:
   * the answer about it, or its absence, never replaces the query by our own ids. May execute a payment that
   * the customer authorized, so it must be safe to repeat.
   *
   * @throws ProviderUnavailable if the answer is unknown; the session's status stays
   */
  verify(access: ProviderAccess, expected: ExpectedPayment): Promise<Verdict>;

  /**
   * Finds the payments of a paid session that the provider has not reversed, with any amount. May omit the
   * one that settled it. Sends queries only and moves no money. If the provider does not answer about one id,
   * the result still contains the others.
   *
   * @throws ProviderUnavailable if the provider answers nothing
   */
  findPayments(access: ProviderAccess, search: PaymentSearch): Promise<FoundPayments>;

  /** Refunds payments. Without this member the hub refuses refunds: `refund_not_supported`. */
  readonly refunds?: RefundCalls;

  /** Reads payments that the hub did not start, for prices of the provider's catalog. */
  readonly catalog?: CatalogCalls;

  /** Tests the credentials by a harmless call. @throws ProviderUnavailable, ProviderRefused */
  testCredentials(access: ProviderAccess): Promise<{ readonly detail: string }>;
};

export type SignedCallbacks = {
  /** The headers that `open` needs, in lower case. A callback without one of them is refused. */
  readonly headers: readonly string[];
  /**
   * Verifies the signature with the credentials of one slot, and its age, and reads the fields. They must
   * contain no personal data, because the journal keeps them. A replay reads them from the journal.
   *
   * @returns undefined if the signature is not that of the slot
   * @throws CallbackMalformed
   */
  open(callback: SignedBody, credentials: ProviderAccess['credentials']): Promise<OpenedCallback | undefined>;
};

export type SignedBody = {
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly receivedAt: Date;
};

export type OpenedCallback = {
  readonly fields: Readonly<Record<string, string>>;
  /** The hub's id of the session, `chs_…`, if the callback has one. */
  readonly sessionId?: string | undefined;
};

export type RefundCalls = {
  /**
   * Requests a refund of a part of a payment, or of all of it. After an unknown answer the hub calls `find`.
   * If that does not report the refund, the hub calls `request` again with the same reference.
   *
   * @throws ProviderUnavailable if the answer is unknown
   * @throws ProviderRefused if the provider makes no refund
   */
  request(access: ProviderAccess, refund: RefundRequest): Promise<ProviderRefund>;

  /**
   * Finds the refunds and disputes of a payment, including refunds that the merchant made at the provider.
   * Sends queries only.
   *
   * @throws ProviderUnavailable if the answer is unknown
   */
  find(access: ProviderAccess, search: RefundSearch): Promise<FoundRefunds>;
};

export type CatalogCalls = {
  /** The form of the ids of prices, and an example for people. */
  readonly priceIds: { readonly pattern: RegExp; readonly example: string };

  /**
   * Reads a payment that the hub did not start. Returns undefined unless it is a completed payment of one
   * price of the catalog. Sends queries only.
   *
   * @throws ProviderUnavailable if the answer is unknown
   */
  findSale(access: ProviderAccess, providerPaymentId: string): Promise<CatalogSale | undefined>;
};

/** A completed checkout of one price of the catalog. `verify` confirms its payment. */
export type CatalogSale = {
  /** The provider's id of the price, which an offer names. */
  readonly price: string;
  readonly quantity: number;
  /** The whole payment, with taxes and discounts. */
  readonly amount: Money;
  readonly customer: CheckoutRequest['customer'];
  /** For the `order_reference` of the session; empty if the provider has none. */
  readonly orderReference: string;
};

/** An opened slot, and the means to call its provider. */
export type ProviderAccess = {
  readonly slotId: string;
  readonly baseUrl: string;
  readonly credentials: Secret<Readonly<Record<string, string>>>;
  readonly options: Readonly<Record<string, string>>;
  /** HTTP client of this slot: own connection pool, timeouts, no redirects, bounded answers. */
  readonly http: ProviderHttp;
  /** Access tokens of this slot, shared by all hubs. */
  readonly tokens: TokenCache;
  readonly clock: Clock;
  /** Records a call to the provider. Details contain no secrets. */
  readonly observe: (step: VerificationStep) => void;
  /** Texts that identify the customer. They are redacted like secrets. Default: none. */
  readonly personal?: readonly string[];
};

export type ProviderRequest = {
  readonly method: 'GET' | 'POST';
  /** An absolute URL below the slot's base URL, or below the driver's `rootUrl`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds for the whole exchange. */
  readonly timeoutMs?: number;
};

export type ProviderHttp = {
  /** Returns the status, whatever it is, and the body as text. @throws ProviderUnavailable */
  send(request: ProviderRequest): Promise<{ readonly status: number; readonly body: string }>;
};

export type GrantedToken = { readonly token: string; readonly expiresInSeconds: number };

export type TokenCache = {
  /**
   * Returns the slot's access token. Calls `grant` if there is no token, if it expires soon, or if it is the
   * `rejected` one. Only one hub calls it at a time. @throws any error of `grant`
   */
  get(grant: () => Promise<GrantedToken>, rejected?: string): Promise<string>;
};

/**
 * Fields by name: `CallbackFields<(typeof READS)[number]>` in a driver, so that it names all that it reads.
 */
export type CallbackFields<Name extends string = string> = { readonly [name in Name]?: string };

/** The claim of a callback. Untrusted: anybody can send one. */
export type CallbackClaim = {
  /**
   * `ignored`: a status that changes nothing. `refunded`: a refund or dispute of the payment began or
   * changed.
   */
  readonly outcome: 'paid' | 'failed' | 'cancelled' | 'refunded' | 'unknown' | 'ignored';
  /** The status as sent; empty if missing. */
  readonly status: string;
  readonly merchantTransactionId?: string;
  readonly providerPaymentId?: string;
  /** The provider's validation id of the payment, if the callback has one. */
  readonly validationId?: string;
  /** For a callback about refunds: the id that proved the payment, `gatewayTransactionId`. */
  readonly paymentProof?: string;
};

export type CheckoutRequest = {
  readonly sessionId: string;
  /** The transaction id that the hub gives the provider: at most 30 characters of A-Z, a-z, 0-9. */
  readonly merchantTransactionId: string;
  readonly amount: Money;
  /** `{base_url}/v1/webhooks/{gateway}?session_id=chs_…`, at most 255 characters. */
  readonly callbackUrl: string;
  /**
   * `{base_url}/v1/return/chs_…`, where the browser goes after the checkout; undefined for the callback URL.
   * A provider whose callbacks the browser brings has only the callback URL.
   */
  readonly browserUrl?: string | undefined;
  readonly orderReference: string;
  readonly customer: Readonly<Partial<Record<CustomerField, string>>>;
};

export type CustomerField = 'name' | 'email' | 'phone' | 'address' | 'city' | 'postcode' | 'country';

export type Checkout = { readonly providerPaymentId: string; readonly checkoutUrl: string };

export type ExpectedPayment = {
  readonly merchantTransactionId: string;
  /** The stored id, never one from a callback. */
  readonly providerPaymentId: string;
  readonly amount: Money;
  /**
   * From a callback, so possibly forged. A driver may query it first, and must still query by its own ids.
   */
  readonly validationId?: string;
  /** Whether the session is paid, so that only a reversal matters. Nothing may be executed then. */
  readonly isPaid: boolean;
};

/** The ids that prove a payment. They can pay only one session of the gateway. */
export type PaymentProof = {
  /** The provider's id of the payment. */
  readonly gatewayTransactionId: string;
  /** The bank's id, if the provider gives it. */
  readonly bankTransactionId?: string;
};

/** The provider's risk rating: 0 is safe. */
export type Risk = {
  readonly level: number;
  /** The provider's title of the level; may be empty. */
  readonly title: string;
};

export type PaymentSearch = {
  readonly merchantTransactionId: string;
  /** The stored one. */
  readonly providerPaymentId: string;
  /**
   * Payment ids from callbacks, to be queried too. Their answers have to match the session like any other.
   */
  readonly claimedPaymentIds: readonly string[];
};

export type FoundPayments = {
  readonly payments: readonly FoundPayment[];
  /** The `claimedPaymentIds` without an answer, with the reason. They are queried again. */
  readonly unanswered: ReadonlyMap<string, string>;
};

/** A payment for a session that is paid and not reversed. */
export type FoundPayment = PaymentProof & {
  /** The provider's id of the payment's checkout. */
  readonly providerPaymentId: string;
  readonly amount: Money;
};

/** A settled payment, with the ids that the hub stored. */
export type SettledPayment = PaymentProof & {
  readonly merchantTransactionId: string;
  readonly providerPaymentId: string;
  /** The whole payment. */
  readonly amount: Money;
};

export type RefundRequest = {
  readonly payment: SettledPayment;
  /** The hub's id of the refund, `rfd_…`: 30 characters, unique. */
  readonly reference: string;
  readonly amount: Money;
  /** For the provider's records; not empty. */
  readonly reason: string;
  /**
   * Whether the hub requested the refund before and got no answer. A provider whose refunds `find` cannot
   * find then answers about the earlier request. If it refuses, an operator reviews the refund.
   */
  readonly isRepeated?: boolean;
};

export type RefundSearch = {
  readonly payment: SettledPayment;
  /** The refunds that the hub requested, oldest first. */
  readonly requested: readonly (Pick<RefundRequest, 'reference' | 'amount'> & {
    /** Undefined if the provider's answer was lost. */
    readonly gatewayRefundId: string | undefined;
  })[];
};

/** A refund or dispute, as the provider reports it. `detail` is a sentence for operators, without secrets. */
export type ProviderRefund = {
  /** `dispute`: the customer's bank demands the money back. It succeeds if the customer wins. */
  readonly kind: 'refund' | 'dispute';
  /** The provider's id, unique within the gateway. */
  readonly gatewayRefundId: string;
  /** The `reference` of the request, if the provider reports it. */
  readonly reference?: string;
  readonly amount: Money;
  readonly state: 'pending' | 'succeeded' | 'failed';
  readonly detail: string;
};

export type FoundRefunds = {
  readonly refunds: readonly ProviderRefund[];
  /** Whether the provider reports the whole payment as reversed, without a refund that says so. */
  readonly isReversed: boolean;
};

/** The result of a verification. `detail` is a sentence for operators, without secrets. */
export type Verdict =
  | ({
      readonly kind: 'paid';
      readonly detail: string;
      readonly risk?: Risk;
      /** What the vendor receives after the provider's fees, if the provider says so. */
      readonly received?: Money;
    } & PaymentProof)
  /** Final: nothing was paid or will be. */
  | { readonly kind: 'not_paid'; readonly status: 'failed' | 'cancelled'; readonly detail: string }
  /** Not final: the customer may still pay. The sweep verifies the session at least until `until`. */
  | { readonly kind: 'pending'; readonly until?: Date; readonly detail: string }
  /** It was paid and then refunded or reversed. */
  | { readonly kind: 'reversed'; readonly detail: string }
  /** A payment that does not match the session: another transaction, amount or currency. */
  | { readonly kind: 'mismatch'; readonly detail: string };

export type VerificationStep = {
  /** `validate`, `execute`, `query`, `refund`, … */
  readonly operation: string;
  readonly outcome: Verdict['kind'] | 'refunded' | 'not_refunded' | 'unavailable';
  readonly detail: string;
  readonly askedAt: Date;
  readonly durationMs: number;
};

/** The slot option, for providers that rate payments: settle risky payments or hold them. */
export const RISKY_PAYMENTS = 'riskyPayments';
export const RISKY_PAYMENTS_VALUES = ['settle', 'hold'] as const satisfies readonly [string, ...string[]];

/** The provider gave no usable answer; try again later. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
}

/** The provider refused; a retry does not help. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused';
}

/** A callback that no provider sends. `field` is the invalid field; the message says what is expected. */
export class CallbackMalformed extends Error {
  override readonly name = 'CallbackMalformed';
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}
