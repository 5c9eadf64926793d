// Wires the customer module: builds its service from its dependencies.
import { CustomerService } from '../../gen/hub/customer/v1/customer_service_pb.ts';
import type { Clock } from '../clock.ts';
import type { SerialQueue } from '../serial-queue.ts';
import { type ServiceEntry, serve } from '../service-implementation.ts';
import type { Database } from '../storage/database.ts';
import type { SealedColumn } from '../storage/secrets/reseal.ts';
import type { Sealer } from '../storage/secrets/sealing.ts';
import { createCustomers } from './customer-admin.ts';
import { createCustomerService } from './customer-service.ts';
import { createErase, type ErasePersonalData } from './erase-customer.ts';
import { CUSTOMER_KEYS } from './personal-data.ts';

export type CustomerModuleOptions = {
  readonly db: Database;
  readonly sealer: Sealer;
  readonly clock: Clock;
  /** The functions that erase the personal data of a customer in the other modules. */
  readonly erasers: readonly ErasePersonalData[];
  readonly counterQueue: SerialQueue;
};

export type CustomerModule = { readonly services: readonly ServiceEntry[] };

/** Sealed columns, to re-seal when the master key is rotated. */
export const CUSTOMER_SECRETS: readonly SealedColumn[] = [CUSTOMER_KEYS];

export function createCustomerModule(options: CustomerModuleOptions): CustomerModule {
  const { db, sealer, clock } = options;
  const customers = createCustomers({ db, sealer, clock });
  const erase = createErase(options);
  return { services: [serve(CustomerService, createCustomerService({ customers, erase }))] };
}
