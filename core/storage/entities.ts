// The table of the storage room: which master keys this database's secrets are sealed with.
import { defineEntity, p } from '@mikro-orm/core';

export const MasterKeyUseSchema = defineEntity({
  name: 'MasterKeyUse',
  tableName: 'master_key_use',
  properties: {
    /** Id of the master key, 16 hex digits; it says nothing about the key. */
    keyId: p.text().primary(),
    since: p.datetime(3),
  },
});

export const storageEntities = [MasterKeyUseSchema];
