// Writes the table of roles and RPCs into docs/access.md, from the contract's options.
import type { DescMethod, DescService } from '@bufbuild/protobuf';
import { accessRule } from '../../core/access/authorize.ts';
import { ROLES } from '../../core/access/entities.ts';
import { isOpenToAnyScope, subjectFields } from '../../core/access/scope.ts';
import { contractServices } from '../../test/core/access/contract-services.ts';
import { replaceSection } from './replace-section.ts';

const PAGE = new URL('../../docs/access.md', import.meta.url);
const MARKS = ['<!-- roles: written by npm run gen -->', '<!-- end of roles -->'] as const;

function tableOf(service: DescService): string {
  return [
    `| \`${service.typeName}\` | ${ROLES.join(' | ')} | limited tokens |`,
    `|---|${ROLES.map(() => ':-:|').join('')}---|`,
    ...service.methods.map(rowOf),
  ].join('\n');
}

function rowOf(method: DescMethod): string {
  const rule = accessRule(method);
  const roles = ROLES.map((role) => {
    if (rule.public || rule.roles.has(role)) return '✓';
    return rule.appScopedRoles.has(role) ? 'app' : '';
  });
  const cells = [`\`${method.name}\``, ...roles, rule.public ? 'no token needed' : limits(method)];
  return `| ${cells.join(' | ')} |`;
}

function limits(method: DescMethod): string {
  if (isOpenToAnyScope(method)) return 'yes';
  const fields = subjectFields(method).map(({ path }) => path.map(({ name }) => name).join('.'));
  return fields.length === 0 ? 'no' : `by ${fields.map((name) => `\`${name}\``).join(', ')}`;
}

replaceSection(PAGE, MARKS, (await contractServices()).map(tableOf).join('\n\n'));
