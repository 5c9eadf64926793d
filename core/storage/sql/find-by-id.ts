// Finds the entity that the id of a request names.
import type { EntityManager, EntityName, FilterQuery, LockMode } from '@mikro-orm/postgresql';
import { type ResourcePrefix, unknownId } from '../../errors.ts';
import { parseId } from '../../ids.ts';

/** @throws HubError `…_unknown` */
export async function findById<E extends { id: string }>(
  em: EntityManager,
  entity: EntityName<E>,
  prefix: ResourcePrefix,
  publicId: string,
  options: { populate?: readonly (keyof NoInfer<E> & string)[]; lockMode?: LockMode.PESSIMISTIC_WRITE } = {},
): Promise<E> {
  const id = parseId(prefix, publicId);
  // TypeScript cannot check the property names of a generic entity.
  const found = id && (await em.findOne(entity, { id } as FilterQuery<E>, options as object));
  if (found) return found as E;
  throw unknownId(prefix);
}
