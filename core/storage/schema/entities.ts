// The tables of the storage module: the master keys in use, and the locks between hubs.
import { defineEntity, p } from '@mikro-orm/core';

export const MasterKeyUseSchema = defineEntity({
  name: 'MasterKeyUse',
  tableName: 'master_key_use',
  properties: {
    /** Id of the master key, 16 hex digits; it reveals nothing about the key. */
    keyId: p.text().primary(),
    since: p.datetime(3),
  },
});

/** One row for each lock, see hub-lock.ts. */
const HubLockSchema = defineEntity({
  name: 'HubLock',
  tableName: 'hub_lock',
  properties: { name: p.text().primary() },
});

export const storageEntities = [MasterKeyUseSchema, HubLockSchema];
