// CallbackService: what payment providers call, translated to the domain and back.
import type { ServiceImpl } from '@connectrpc/connect';
import type { CallbackService } from '../../gen/hub/payment/v1/callback_service_pb.ts';
import type { ReceiveCallback } from './receive-callback.ts';

export function createCallbackService({ receive }: ReceiveCallback): ServiceImpl<typeof CallbackService> {
  return {
    async receiveCallback({ gateway, method, sessionId, fields }) {
      return receive({ gateway, method, sessionId, fields });
    },
  };
}
