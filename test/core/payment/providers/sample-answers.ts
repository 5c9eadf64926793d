// Answers of both providers, in the shape they have.

/** A transaction as the provider shows it: numbers are text, and `amount` is in the store's currency. */
export function transaction(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    status: 'VALID',
    tran_date: '2026-11-21 12:00:00',
    tran_id: '01K7TRANSACTION',
    val_id: '2611211200001zTk5W3rlDPbwn4',
    amount: '100',
    store_amount: '97.5',
    currency: 'BDT',
    bank_tran_id: '26112112000015pM4yYw',
    card_type: 'VISA-Dutch Bangla',
    currency_type: 'BDT',
    currency_amount: '100.00',
    currency_rate: '1.0000',
    risk_level: '0',
    risk_title: 'Safe',
    APIConnect: 'DONE',
    ...changes,
  };
}

/** What execute answers; the query calls the invoice `merchantInvoice`. */
export function payment(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    statusCode: '0000',
    statusMessage: 'Successful',
    paymentID: 'PAY-1',
    payerReference: '01K7TRANSACTION',
    customerMsisdn: '01770618575',
    trxID: 'BKL30A9ULZ',
    amount: '100',
    transactionStatus: 'Completed',
    paymentExecuteTime: '2026-11-21T12:00:00:000 GMT+0600',
    currency: 'BDT',
    intent: 'sale',
    merchantInvoiceNumber: '01K7TRANSACTION',
    ...changes,
  };
}
