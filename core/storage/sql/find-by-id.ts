// Finds the entity that the id of a request names.
import type { EntityManager, EntityName, FilterQuery, LockMode } from '@mikro-orm/postgresql';
import { type NamedPrefix, unknownId } from '../../errors.ts';
import { parseId } from '../../ids.ts';

/** @throws HubError that no entity has the id */
export async function findById<E extends { id: string }>(
  em: EntityManager,
  entity: EntityName<E>,
  prefix: NamedPrefix,
  text: string,
  options: { populate?: readonly (keyof NoInfer<E> & string)[]; lockMode?: LockMode.PESSIMISTIC_WRITE } = {},
): Promise<E> {
  const id = parseId(prefix, text);
  // The names of the properties of any entity have no types.
  const found = id && (await em.findOne(entity, { id } as FilterQuery<E>, options as object));
  if (found) return found as E;
  throw unknownId(prefix);
}
