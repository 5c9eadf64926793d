// A session with all that the hub's books say of it.
export type BookedSession = {
  readonly id: string;
  readonly gateway: string;
  readonly merchantTransactionId: string;
  readonly providerPaymentId: string | null;
  readonly status: string;
  readonly minor: string;
  readonly currency: string;
  /** What its usage log entries come to, reversals taken off. */
  readonly net: string;
  readonly reversals: number;
  readonly payments: number;
  /** The entry of its first payment; null if there is none. */
  readonly proof: string | null;
  readonly usageMinor: string | null;
  readonly usageCurrency: string | null;
  readonly isReversed: boolean;
  readonly feeTotal: string | null;
  readonly feeLines: readonly { readonly rule: string; readonly minor: number }[];
  /** How its status changed, as the audit log has it, in any order: `pending>success`. */
  readonly changes: readonly string[];
};
