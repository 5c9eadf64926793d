// Calls within the process: the caller, the headers, and their end.
import { Code, createClient, type Transport } from '@connectrpc/connect';
import { expect } from 'chai';
import { callerKey, requestIdKey } from '../../../../core/access/caller.ts';
import { createInProcessTransport } from '../../../../core/rpc/in-process/transport.ts';
import { serve } from '../../../../core/service-implementation.ts';
import { Health } from '../../../../gen/grpc/health/v1/health_pb.ts';
import { AccessService } from '../../../../gen/hub/access/v1/access_service_pb.ts';
import { LicenseService } from '../../../../gen/hub/license/v1/license_service_pb.ts';
import { survivingBytes } from '../../../support/survivors.ts';
import { failureOf } from '../failure-of.ts';

describe('the in-process transport', () => {
  it('passes the caller and the request id to the service', async () => {
    const access = createClient(
      AccessService,
      direct((_request, { values }) => ({
        name: `${values.get(callerKey)?.name} ${values.get(requestIdKey)}`,
      })),
    );
    const { name } = await access.getCaller({}, { headers: { 'x-request-id': 'request-1' } });
    expect(name).to.equal('gateway request-1');
  });

  it('passes the headers of both sides', async () => {
    const access = createClient(
      AccessService,
      direct((_request, { requestHeader, responseHeader }) => {
        responseHeader.set('x-answer', `${requestHeader.get('x-question')}!`);
        return {};
      }),
    );
    let answer: string | null = null;
    await access.getCaller(
      {},
      {
        headers: { 'x-question': 'why' },
        onHeader: (headers) => {
          answer = headers.get('x-answer');
        },
      },
    );
    expect(answer).to.equal('why!');
  });

  it('returns Unimplemented for an unknown service, and for streams', async () => {
    const transport = direct(() => ({}));
    const elsewhere = await failureOf(createClient(LicenseService, transport).getJwks({ app: 'demo' }));
    expect([elsewhere.code, elsewhere.rawMessage]).to.deep.equal([
      Code.Unimplemented,
      'hub.license.v1.LicenseService/GetJwks is not served here',
    ]);
    const stream = createClient(Health, transport).watch({})[Symbol.asyncIterator]().next();
    expect((await failureOf(stream)).code).to.equal(Code.Unimplemented);
  });

  it('leaves nothing of a call in old space', async () => {
    const access = createClient(
      AccessService,
      direct(() => ({ name: 'a'.repeat(100) })),
    );
    const surviving = await survivingBytes(5_000, () =>
      access.getCaller(
        {},
        { headers: { 'x-request-id': 'request-1' }, signal: new AbortController().signal },
      ),
    );
    // A call takes about 5 kB.
    expect(surviving).to.be.below(1_000_000);
  });

  it('makes no call with an aborted signal', async () => {
    let calls = 0;
    const access = createClient(
      AccessService,
      direct(() => {
        calls++;
        return {};
      }),
    );
    expect((await failureOf(access.getCaller({}, { signal: AbortSignal.abort() }))).code).to.equal(
      Code.Canceled,
    );
    expect(calls).to.equal(0);
  });

  it('stops waiting, and aborts the service, when the signal is aborted', async () => {
    const controller = new AbortController();
    let told = false;
    const access = createClient(
      AccessService,
      direct((_request, { signal }) => {
        signal.addEventListener('abort', () => {
          told = true;
        });
        controller.abort();
        return new Promise(() => {});
      }),
    );
    const failure = await failureOf(access.getCaller({}, { signal: controller.signal }));
    expect([failure.code, told]).to.deep.equal([Code.Canceled, true]);
  });

  it('stops waiting at the deadline of the call, or its own', async () => {
    const access = createClient(
      AccessService,
      direct(() => new Promise(() => {})),
    );
    const failure = await failureOf(access.getCaller({}, { timeoutMs: 20 }));
    expect(failure.code).to.equal(Code.DeadlineExceeded);
    const patient = await failureOf(access.getCaller({}));
    expect(patient.code).to.equal(Code.DeadlineExceeded);
  });
});

type GetCaller = NonNullable<Parameters<typeof serve<typeof AccessService>>[1]['getCaller']>;

function direct(getCaller: GetCaller): Transport {
  return createInProcessTransport({
    services: [serve(AccessService, { getCaller })],
    interceptorsOf: () => [],
    defaultTimeoutMs: 100,
    caller: { name: 'gateway', role: 'gateway' },
  });
}
