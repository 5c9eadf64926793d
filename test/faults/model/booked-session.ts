// A session with all records of the hub about it.
export type BookedSession = {
  readonly id: string;
  readonly gateway: string;
  readonly merchantTransactionId: string;
  readonly providerPaymentId: string | null;
  readonly status: string;
  readonly minor: string;
  readonly currency: string;
  /** The sum of its usage log entries, less reversals and refunds. */
  readonly net: string;
  readonly reversals: number;
  readonly payments: number;
  /** The entry of its first payment. Null if there is none. */
  readonly proof: string | null;
  readonly usageMinor: string | null;
  readonly usageCurrency: string | null;
  /** Whether each of its payments was reversed. */
  readonly isReversed: boolean;
  /** The refunded part of its payment, and the same by its usage log entries. */
  readonly refundedMinor: string;
  readonly refundedInLog: string;
  readonly feeTotal: string | null;
  readonly feeLines: readonly { readonly rule: string; readonly minor: number }[];
  /** Its status changes in the audit log, in any order: `pending>success`. */
  readonly changes: readonly string[];
};
