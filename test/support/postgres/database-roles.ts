// The roles and the database of a hub, created by the statements of docs/operations/requirements.md.
import { randomBytes } from 'node:crypto';
import { fencedBlocks, readPage } from '../../docs/markdown.ts';

export type RoleStatements = {
  /** The name of the database and of the role that hubs serve with. */
  readonly name: string;
  readonly password: string;
  /** A superuser runs these in order. */
  readonly statements: readonly string[];
};

let blocks: readonly string[] | undefined;

/** A role that owns the database. */
export function oneRole(name: string): RoleStatements {
  return named(name, (block) => !block.includes('hub_owner'));
}

/** One role that owns the database, and one that serves. */
export function twoRoles(name: string): RoleStatements & { readonly ownerName: string } {
  return { ...named(name, (block) => block.includes('hub_owner')), ownerName: `${name}_owner` };
}

/** The page's block with other names. */
function named(name: string, belongs: (block: string) => boolean): RoleStatements {
  blocks ??= fencedBlocks(readPage('docs/operations/requirements.md'), 'sql');
  const [block, ...others] = blocks.filter(belongs);
  if (block === undefined || others.length > 0) {
    throw new Error('docs/operations/requirements.md must have one SQL block for one role, and one for two');
  }
  const password = randomBytes(12).toString('hex');
  const statements = block
    .replaceAll(/\bhub(_owner)?\b/g, `${name}$1`)
    .replaceAll('…', password)
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
  return { name, password, statements };
}
