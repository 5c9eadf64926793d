// The files in deploy/ pass linters that detect injected errors.
import { expect } from 'chai';
import { MANIFESTS, readDeploy } from './files.ts';
import {
  exposureOf,
  findUnknownMembers,
  lintCompose,
  lintDockerfile,
  lintManifests,
  verifyUnit,
} from './lint.ts';

/** The text with one thing in it broken. */
function broken(path: string, right: string, wrong: string): string {
  const text = readDeploy(path);
  expect(text, path).to.contain(right);
  return text.replace(right, wrong);
}

describe('deploy/', () => {
  it('has a valid Dockerfile; the check detects errors', () => {
    expect(lintDockerfile(readDeploy('Dockerfile'))).to.deep.equal([]);
    for (const [right, wrong, finding] of [
      ['["serve"]', "['serve']", /single quotes/],
      ['USER 10001', 'USRE 10001', /Unknown instruction: USRE/],
      ['--timeout=5s', '--timeout=5', /missing unit/i],
      ['EXPOSE 5099 5100', 'EXPOSE 5099 http', /Invalid containerPort: http/],
    ] as const) {
      expect(lintDockerfile(broken('Dockerfile', right, wrong)).join('\n')).to.match(finding);
    }
  });

  it('has a valid compose file; the check detects errors', () => {
    expect(lintCompose(readDeploy('compose.yaml'))).to.deep.equal([]);
    const misspelt = broken('compose.yaml', 'read_only: true', 'readonly: true');
    expect(lintCompose(misspelt).join('\n')).to.match(/invalid-schema.*additional properties/);
    const loose = broken('compose.yaml', 'redis:7.4-bookworm', 'redis:latest')
      .replace("'127.0.0.1:5099:5099'", "'5099:5099'")
      .replace("'127.0.0.1:5100:5100'", "'127.0.0.1:5099:5100'");
    const rules = lintCompose(loose).map((finding) => finding.split(': ')[1]);
    expect(rules).to.have.members([
      'service-image-require-explicit-tag',
      'no-unbound-port-interfaces',
      'no-duplicate-exported-ports',
    ]);
  });

  it('has a valid, hardened systemd unit; the check detects errors', function () {
    expect(verifyUnit(this, readDeploy('hubctl.service'))).to.deep.equal([]);
    for (const [right, wrong, finding] of [
      ['KillMode=mixed', 'KillMode=polite', /Failed to parse kill mode.*polite/],
      ['ProtectClock=', 'ProtectClocks=', /Unknown key.*ProtectClocks/],
      ['~@privileged', '~@privilegd', /Unknown system call group.*@privilegd/],
    ] as const) {
      expect(verifyUnit(this, broken('hubctl.service', right, wrong)).join('\n')).to.match(finding);
    }
    expect(exposureOf(this, readDeploy('hubctl.service'))).to.be.at.most(1.5);
    const open = broken('hubctl.service', 'CapabilityBoundingSet=\n', '').replace('DynamicUser=yes', '');
    expect(exposureOf(this, open)).to.be.above(2.5);
  });

  it('has valid manifests; the check detects errors', async () => {
    const all = MANIFESTS.map((name) => readDeploy(`kubernetes/${name}`)).join('\n---\n');
    expect([...(await lintManifests(all)), ...findUnknownMembers(all)]).to.deep.equal([]);
    for (const [right, wrong, finding] of [
      ['memory: 1Gi', 'memory: 1Gb', /limits\/memory must match format "quantity"/],
      ['ReadWriteOnce', 'ReadWriteOften', /must be equal to one of the allowed values/],
      ['containerPort: 5100', 'containerPort: rpc', /containerPort must be (integer|number)/],
      ['apiVersion: policy/v1', 'apiVersion: apps/v1', /there is no apps\/v1 PodDisruptionBudget/],
    ] as const) {
      expect((await lintManifests(broken('kubernetes/core.yaml', right, wrong))).join('\n')).to.match(
        finding,
      );
    }
    const misspelt = broken('kubernetes/core.yaml', 'readOnlyRootFilesystem', 'readOnlyRootFileSystem');
    expect(findUnknownMembers(misspelt).join('\n')).to.match(/readOnlyRootFileSystem.* does not exist/);
  });
});
