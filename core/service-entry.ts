// A service together with what answers it.
import type { DescService } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';

export type ServiceEntry = {
  readonly service: DescService;
  readonly implementation: ServiceImpl<DescService>;
};

/** Pairs a service with an implementation of exactly its shape. */
export function serve<T extends DescService>(service: T, implementation: ServiceImpl<T>): ServiceEntry {
  return { service, implementation: implementation as ServiceImpl<DescService> }; // widened once its shape is checked
}
