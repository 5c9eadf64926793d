// The migrations in their order. A database records them by these names, which never change.
import type { MigrationObject } from '@mikro-orm/core';

type MigrationClass = MigrationObject['class'] & { readonly isCompatible?: boolean };

/** Loaded on use: most starts of a hub apply none. */
export const MIGRATIONS: Readonly<Record<string, () => Promise<MigrationClass>>> = {
  Migration20261125000000_storage: async () =>
    (await import('./migrations/Migration20261125000000_storage.ts')).Migration20261125000000_storage,
  Migration20261125000001_partitions: async () =>
    (await import('./migrations/Migration20261125000001_partitions.ts')).Migration20261125000001_partitions,
  Migration20261125000002_access: async () =>
    (await import('./migrations/Migration20261125000002_access.ts')).Migration20261125000002_access,
  Migration20261125000003_audit: async () =>
    (await import('./migrations/Migration20261125000003_audit.ts')).Migration20261125000003_audit,
  Migration20261125000004_customer: async () =>
    (await import('./migrations/Migration20261125000004_customer.ts')).Migration20261125000004_customer,
  Migration20261125000005_license: async () =>
    (await import('./migrations/Migration20261125000005_license.ts')).Migration20261125000005_license,
  Migration20261125000006_payment: async () =>
    (await import('./migrations/Migration20261125000006_payment.ts')).Migration20261125000006_payment,
  Migration20261125000007_event: async () =>
    (await import('./migrations/Migration20261125000007_event.ts')).Migration20261125000007_event,
  Migration20261125000008_order: async () =>
    (await import('./migrations/Migration20261125000008_order.ts')).Migration20261125000008_order,
  Migration20261125000009_mail: async () =>
    (await import('./migrations/Migration20261125000009_mail.ts')).Migration20261125000009_mail,
};
