// Checks the test's changes to the documented configuration: names, addresses, directories and passwords.
import { expect } from 'chai';
import { parse } from 'yaml';
import { fencedBlocks, readPage } from '../../docs/markdown.ts';
import { haproxyConfiguration, patroniConfiguration, timesFor } from './configuration.ts';

const PAGE = readPage('docs/operations/postgresql-failover.md');
const NODES = [
  { name: 'db1', postgresPort: 20_001, restPort: 20_002 },
  { name: 'db2', postgresPort: 20_003, restPort: 20_004 },
] as const;

describe('the configuration of docs/operations/postgresql-failover.md', () => {
  it('of Patroni is used except names, addresses, directories and passwords', () => {
    const ours = parse(
      patroniConfiguration({
        node: NODES[1],
        etcdPort: 20_000,
        dataDir: '/data',
        ownDir: '/own',
        binDir: '/bin',
        password: 'secret',
      }),
    );
    const shown = parse(fencedBlocks(PAGE, 'yaml')[0] ?? '');
    expect(ours.scope).to.equal(shown.scope);
    expect(ours.bootstrap).to.deep.equal(shown.bootstrap);
    expect(ours.bootstrap.dcs.synchronous_mode).to.equal(true);
    expect(ours.postgresql.parameters).to.deep.equal({
      ...shown.postgresql.parameters,
      unix_socket_directories: '/own',
    });
    expect(JSON.stringify(ours)).to.not.match(/10\.0\.0|PASSWORD|var\/lib/);
    expect(ours.name).to.equal('db2');
    expect(ours.etcd.hosts).to.equal('127.0.0.1:20000');
    expect(ours.restapi).to.deep.equal({ listen: '127.0.0.1:20004', connect_address: '127.0.0.1:20004' });
    expect(ours.postgresql.listen).to.equal('127.0.0.1:20003');
    expect(ours.postgresql.pg_hba).to.have.length(shown.postgresql.pg_hba.length);
  });

  it('of HAProxy is used except addresses', () => {
    const ours = haproxyConfiguration(20_005, NODES).split('\n');
    const shown = (fencedBlocks(PAGE, 'haproxy')[0] ?? '').split('\n');
    const changed = ours.filter((line, index) => line !== shown[index]);
    expect(ours).to.have.length(shown.length);
    expect(changed.map((line) => line.trim())).to.deep.equal([
      'bind 127.0.0.1:20005',
      'server db1 127.0.0.1:20001 check port 20002',
      'server db2 127.0.0.1:20003 check port 20004',
    ]);
  });

  it('has times that Patroni accepts, for every other ttl too', () => {
    const { dcs } = parse(fencedBlocks(PAGE, 'yaml')[0] ?? '').bootstrap;
    expect(dcs).to.include(timesFor(dcs.ttl));
    for (const ttl of [8, 9, 10, 20, 30]) {
      const { loop_wait, retry_timeout } = timesFor(ttl);
      expect(loop_wait + 2 * retry_timeout, `ttl ${ttl}`).to.be.at.most(ttl);
    }
    expect(() => timesFor(7)).to.throw('ttl has to be a whole number of seconds from 8');
  });
});
