// The sources of licenses for a list in the order of ids: each reads no more than a page needs.
import { type Bind, NOTHING, type Sql } from './sql-parameters.ts';

/** A statement for the ids of at most `limit` licenses `l` that meet all conditions, the newest first. */
export type Source = (conditions: readonly Sql[], limit: number) => Sql;

export const allLicenses: Source = (conditions, limit) => statementOf('license l', conditions, limit);

export function sourceOfIds(ids: readonly string[], bind: Bind): Source {
  return ids.length === 0 ? licensesWhere(NOTHING) : licensesWhere(`l.id = any(${bind(ids)}::uuid[])`);
}

/** The licenses that an index finds in the order of their ids. */
export function licensesWhere(condition: Sql): Source {
  return (conditions, limit) => statementOf('license l', [condition, ...conditions], limit);
}

/**
 * Walks the list and tests each license, for a condition that many licenses meet. The subquery keeps the
 * planner from collecting all of them before it takes the first ones.
 */
export function walkWhere(condition: Sql): Source {
  return (conditions, limit) =>
    `select l.id from (
       select l.* from license l where ${conditions.join(' and ') || 'true'} order by l.id desc offset 0
     ) l where ${condition} order by l.id desc limit ${limit}`;
}

/** The licenses of several sources, each once. */
export function unionOf(sources: readonly Source[]): Source {
  return (conditions, limit) =>
    `select id from (
       ${sources.map((source) => `(${source(conditions, limit)})`).join(' union ')}
     ) found order by id desc limit ${limit}`;
}

export function statementOf(from: Sql, conditions: readonly Sql[], limit: number): Sql {
  const where = conditions.join(' and ') || 'true';
  return `select l.id from ${from} where ${where} order by l.id desc limit ${limit}`;
}
