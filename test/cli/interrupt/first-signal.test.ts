// What signals do, and which calls of hubctl are waited for when one comes.
import { expect } from 'chai';
import { changesSomething } from '../../../cli/connect/call-interceptors.ts';
import { signalExitCode, stopSignals } from '../../../cli/interrupt/first-signal.ts';
import { CHANGES } from '../../core/access/changes.ts';
import { contractServices } from '../../core/access/contract-services.ts';

describe('a signal', () => {
  it('sets the exit code that shells use', () => {
    const codes = (['SIGHUP', 'SIGINT', 'SIGTERM'] as const).map(signalExitCode);
    expect(codes).to.deep.equal([129, 130, 143]);
  });

  it('SIGHUP stops a hub without a certificate to reload', () => {
    expect(stopSignals({})).to.deep.equal(['SIGINT', 'SIGTERM', 'SIGHUP']);
    expect(stopSignals({ rpcTlsCert: 'hub.crt' })).to.deep.equal(['SIGINT', 'SIGTERM']);
  });

  it('waits for the response of every call that changes something', async () => {
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
