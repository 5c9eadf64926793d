// Writes the table of roles and RPCs into docs/access.md, from the options of the contract. `npm run gen` runs it.
import { readFileSync, writeFileSync } from 'node:fs';
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { accessRule } from '../core/access/authorize.ts';
import { ROLES } from '../core/access/entities.ts';
import { isOpenToAnyScope, subjectFields } from '../core/access/scope.ts';
import { contractServices } from '../test/core/access/contract-services.ts';

const PAGE = new URL('access.md', import.meta.url);
const [BEGIN, END] = ['<!-- roles: written by npm run gen -->\n', '\n<!-- end of roles -->'];

/** The page with the table of these services in its place. */
function withTable(page: string, services: readonly DescService[]): string {
  const [before, rest] = page.split(BEGIN);
  const [, after] = rest?.split(END) ?? [];
  if (before === undefined || after === undefined)
    throw new Error(`${PAGE.pathname} has no place for the table`);
  return `${before}${BEGIN}\n${services.map(tableOf).join('\n\n')}\n${END}${after}`;
}

function tableOf(service: DescService): string {
  return [
    `| \`${service.typeName}\` | ${ROLES.join(' | ')} | limited tokens |`,
    `|---|${ROLES.map(() => ':-:|').join('')}---|`,
    ...service.methods.map(rowOf),
  ].join('\n');
}

function rowOf(method: DescMethod): string {
  const rule = accessRule(method);
  const roles = ROLES.map((role) => (rule.public || rule.roles.has(role) ? '✓' : ''));
  const cells = [`\`${method.name}\``, ...roles, rule.public ? 'no token needed' : limits(method)];
  return `| ${cells.join(' | ')} |`;
}

function limits(method: DescMethod): string {
  if (isOpenToAnyScope(method)) return 'yes';
  const fields = subjectFields(method).map(({ path }) => path.map(({ name }) => name).join('.'));
  return fields.length === 0 ? 'no' : `by ${fields.map((name) => `\`${name}\``).join(', ')}`;
}

writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), await contractServices()));
