// OpenAPI description of the order endpoint.
import { OrderService } from '../../gen/hub/order/v1/order_service_pb.ts';
import type { JsonSchema, Operation } from './openapi-operation.ts';

const ORDER_RESULT: JsonSchema = {
  title: 'OrderResult',
  type: 'object',
  properties: {
    ok: { type: 'boolean', const: true },
    status: {
      type: 'string',
      enum: ['pending', 'paid', 'failed', 'cancelled', 'refunded'],
      description:
        'Status of the session. `pending`: wait, and ask again in a few seconds. `failed` and `cancelled` can still become `paid`.',
    },
    licenses: {
      type: 'array',
      description: 'The licenses of the order, once it is paid and fulfilled.',
      items: {
        type: 'object',
        properties: {
          licenseId: { type: 'string', pattern: '^lic_[0-9a-z]{26}$', description: 'License identifier.' },
          licenseKey: {
            type: 'string',
            description:
              'The key. Empty if the order did not issue the license, as for a renewal, and after the key was replaced.',
          },
        },
        required: ['licenseId', 'licenseKey'],
      },
    },
    orderId: {
      type: 'string',
      pattern: '^ord_[0-9a-z]{26}$',
      description: 'Order identifier. Absent until the session is paid, and for a session without an offer.',
    },
    orderState: {
      type: 'string',
      enum: ['fulfilled', 'blocked', 'refunded'],
      description:
        'State of the order. `blocked`: it is paid, and the vendor has to look into it. `refunded`: the customer has the money back, and the licenses are taken back.',
    },
  },
  required: ['ok', 'status', 'licenses'],
};

export const ORDER_OPERATION = {
  id: 'getOrder',
  tag: 'Orders',
  summary: 'Get the result of a charge session, with its license keys',
  description:
    'For the bearer of a claim token of the session, which `CreateChargeSession` returns. A token is valid until 7 days after the payment. Keep it on the server of the shop.',
  rpc: OrderService.method.getClaimedOrder,
  bearer: 'claim_token',
  response: { description: 'The result.', schema: ORDER_RESULT },
  problems: ['claim_invalid', 'session_unknown'],
} as const satisfies Operation;
