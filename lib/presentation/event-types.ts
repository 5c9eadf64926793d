// The types of events, for the hub, the command line and the console.

/** The meaning of each type. The first part of a type is the kind of the object. */
export const EVENT_TYPES = {
  'license.issued': 'A license was issued.',
  'license.imported': 'A license of another system was imported.',
  'license.updated': 'Terms of a license were changed.',
  'license.renewed': 'The expiry of a license was extended.',
  'license.expiring': 'A license expires within 14 days.',
  'license.expired': 'A license has expired, and its grace has ended.',
  'license.suspended': 'A license was suspended.',
  'license.resumed': 'A suspended license was resumed.',
  'license.revoked': 'A license was revoked.',
  'license.reinstated': 'A revoked license was reinstated.',
  'license.rekeyed': 'The key of a license was replaced.',
  'license.transferred': 'A license was transferred to another customer.',
  'seat.activated': 'A machine took a seat.',
  'seat.released': 'A seat was released, by its machine or by an operator.',
  'session.succeeded': 'A charge session was paid.',
  'session.failed': 'A charge session failed, or the provider confirmed that it failed.',
  'session.cancelled': 'A charge session was cancelled, or the provider confirmed that it was cancelled.',
  'session.reopened': 'A charge session that failed or was cancelled can be paid again.',
  'session.reversed': 'The provider reversed the payment of a charge session.',
  'refund.created': 'A refund was requested, or a refund or dispute was found at the provider.',
  'refund.succeeded': 'A refund was paid back, or a dispute was lost.',
  'refund.failed': 'A refund failed, or a dispute was won.',
  'order.fulfilled': 'A paid order granted its licenses.',
  'order.blocked': 'A paid order could not be granted.',
  'order.refunded':
    'The payment of an order was refunded in full or reversed, and the hub took back its licenses.',
  'callback.dead': 'The hub gave up a callback.',
  'customer.created': 'A customer was created.',
  'customer.updated': 'The data of a customer was changed.',
  'customer.erased': 'The personal data of a customer was erased.',
  'endpoint.disabled': 'An endpoint was disabled by an operator, or because its deliveries failed.',
  'endpoint.test': 'An operator tests an endpoint. Only that endpoint receives it.',
} as const;

export type EventType = keyof typeof EVENT_TYPES;
