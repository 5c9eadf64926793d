// The lock for changes of fee rules.
import type { EntityManager } from '@mikro-orm/postgresql';

/** Serializes changes, so that two operators cannot both add version n + 1. Readers do not wait. */
export async function lockRules(em: EntityManager): Promise<void> {
  await em.execute('lock table fee_rule in share row exclusive mode');
}
