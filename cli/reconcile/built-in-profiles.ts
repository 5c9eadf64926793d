// The built-in profiles: the columns, kinds and statuses of providers' statements.
import type { StatementProfile } from './read-profile.ts';

/**
 * The names of the provider's API, also in the form of headings. The provider does not publish the headings of exports of
 * its merchant panel.
 */
const GATEWAY_ONE: StatementProfile = {
  title: 'gateway_one',
  gateway: 'gateway_one',
  columns: {
    val_id: 'payment',
    validation_id: 'payment',
    tran_id: 'reference',
    transaction_id: 'reference',
    refund_ref_id: 'id',
    // The amount and currency of the customer. `amount` may be converted to the store's currency.
    currency_amount: 'amount',
    amount: 'amount',
    currency_type: 'currency',
    currency: 'netCurrency',
    store_amount: 'net',
    type: 'kind',
    status: 'status',
    tran_date: 'time',
    transaction_date: 'time',
  },
  currency: 'BDT',
  zone: '+06:00',
  kinds: {
    payment: 'payment',
    sale: 'payment',
    refund: 'refund',
    reversal: 'reversal',
    chargeback: 'reversal',
  },
  statuses: ['valid', 'validated', 'success', 'settled', 'refunded', 'reversed', 'chargeback'],
};

/** The names of the provider's API, and the headings that users of merchant statements report. */
const GATEWAY_TWO: StatementProfile = {
  title: 'gateway_two',
  gateway: 'gateway_two',
  columns: {
    trxid: 'id',
    transaction_id: 'id',
    original_trx_id: 'payment',
    original_transaction_id: 'payment',
    merchant_invoice_number: 'reference',
    transacted_amount: 'amount',
    amount: 'amount',
    currency: 'currency',
    fee: 'fee',
    trx_type: 'kind',
    transaction_type: 'kind',
    transaction_status: 'status',
    completed_time: 'time',
    payment_execute_time: 'time',
    transaction_date: 'time',
    date_time: 'time',
  },
  currency: 'BDT',
  zone: '+06:00',
  kinds: {
    payment: 'payment',
    'merchant payment': 'payment',
    sale: 'payment',
    refund: 'refund',
    'payment refund': 'refund',
    reversal: 'reversal',
    fee: 'fee',
    charge: 'fee',
    settlement: 'ignore',
    disbursement: 'ignore',
  },
  statuses: ['completed', 'success', 'successful'],
};

/** The itemized reports of the balance and of payouts. Their amounts are in major units. */
const STRIPE: StatementProfile = {
  title: 'Stripe',
  gateway: 'stripe',
  columns: {
    source_id: 'id',
    payment_intent_id: 'payment',
    gross: 'amount',
    currency: 'currency',
    fee: 'fee',
    net: 'net',
    reporting_category: 'kind',
    created_utc: 'time',
    created: 'time',
  },
  // A default report has no column with the payment's id.
  needs: ['payment'],
  zone: '+00:00',
  kinds: {
    charge: 'payment',
    charge_failure: 'reversal',
    refund: 'refund',
    refund_failure: 'returned',
    dispute: 'reversal',
    dispute_reversal: 'returned',
    partial_capture_reversal: 'reversal',
    fee: 'ignore',
    network_cost: 'ignore',
    tax: 'ignore',
    payout: 'ignore',
    payout_reversal: 'ignore',
    topup: 'ignore',
    topup_reversal: 'ignore',
    transfer: 'ignore',
    transfer_reversal: 'ignore',
    advance: 'ignore',
    advance_funding: 'ignore',
    other_adjustment: 'ignore',
    risk_reserved_funds: 'ignore',
  },
};

export const BUILT_IN_PROFILES: Readonly<Record<string, StatementProfile>> = {
  gateway_one: GATEWAY_ONE,
  gateway_two: GATEWAY_TWO,
  stripe: STRIPE,
};
