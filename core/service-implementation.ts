// A service of the contract with its implementation.
import type { DescService } from '@bufbuild/protobuf';
import type { ServiceImpl } from '@connectrpc/connect';

export type ServiceEntry = {
  readonly service: DescService;
  readonly implementation: ServiceImpl<DescService>;
};

/** Pairs a service with an implementation of exactly its shape. */
export function serve<T extends DescService>(
  service: T,
  implementation: Partial<ServiceImpl<T>>,
): ServiceEntry {
  // Checked by the parameter type.
  return { service, implementation: implementation as ServiceImpl<DescService> };
}
