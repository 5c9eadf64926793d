// The table of roles and RPCs in docs/access.md, against the options of the contract.
import { getOption, hasOption } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { access, Role } from '../../gen/hub/access/v1/access_pb.ts';
import { contractServices } from '../core/access/contract-services.ts';
import { codeRows, readPage } from './markdown.ts';

const COLUMNS = [Role.ADMIN, Role.OPERATOR, Role.SERVICE, Role.VIEWER, Role.MONITOR, Role.GATEWAY];

describe('docs/access.md', () => {
  it('lists the roles of every RPC as its option defines them', async () => {
    const [, table = ''] = readPage('docs/access.md').split('## Table');
    const rows = codeRows(table).map(([name, ...cells]) => [name, ...cells.slice(0, COLUMNS.length)]);
    const expected = (await contractServices()).flatMap((service) => [
      [service.typeName, 'admin', 'operator', 'service', 'viewer', 'monitor', 'gateway'],
      ...service.methods.map((method) => {
        const standard = !service.typeName.startsWith('hub.');
        const option = hasOption(method, access) ? getOption(method, access) : undefined;
        const admits = (role: Role) =>
          standard || (option && (role === Role.ADMIN || option.roles.includes(role)));
        const withApp = (role: Role) => (option?.appScopedRoles.includes(role) ? 'app' : '');
        return [method.name, ...COLUMNS.map((role) => (admits(role) ? '✓' : withApp(role)))];
      }),
    ]);
    expect(rows).to.deep.equal(expected);
  });
});
