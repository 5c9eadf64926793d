// What signals do, and which calls of hubctl are waited for when one comes.
import { expect } from 'chai';
import { changesSomething } from '../../../cli/connect/call-interceptors.ts';
import { signalExitCode, stopSignals } from '../../../cli/interrupt/first-signal.ts';
import { CHANGES } from '../../core/access/changes.ts';
import { contractServices } from '../../core/access/contract-services.ts';

describe('a signal', () => {
  it('gives the exit code that shells give', () => {
    const codes = (['SIGHUP', 'SIGINT', 'SIGTERM'] as const).map(signalExitCode);
    expect(codes).to.deep.equal([129, 130, 143]);
  });

  it('SIGHUP stops a hub that has no certificate to read again', () => {
    expect(stopSignals({})).to.deep.equal(['SIGINT', 'SIGTERM', 'SIGHUP']);
    expect(stopSignals({ rpcTlsCert: 'hub.crt' })).to.deep.equal(['SIGINT', 'SIGTERM']);
  });

  it('leaves no call unanswered that changes something', async () => {
    const methods = (await contractServices()).flatMap((service) =>
      service.methods.map((method) => ({ rpc: `${service.name}.${method.name}`, method })),
    );
    for (const rpc of Object.keys(CHANGES)) {
      const found = methods.find((each) => each.rpc === rpc);
      expect(found && changesSomething(found.method), rpc).to.equal(true);
    }
    for (const name of ['ListApps', 'GetLicense', 'ExportAuditLog', 'WatchChargeSession', 'TestSlot'])
      expect(changesSomething({ name }), name).to.equal(false);
  });
});
