// Requests that the RPC library cannot take are refused, and the hub goes on.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { createAdapter } from '../../../../core/rpc/server/adapter.ts';
import { openRaw, sendRaw } from '../../../gateway/server/raw-socket.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';

const CHECK = '/grpc.health.v1.Health/Check';

describe('the RPC port with a broken client', () => {
  let hub: TestHub;
  let port: number;
  before(async () => {
    hub = await startHub();
    port = Number(new URL(hub.rpcUrl).port);
  });
  after(() => hub.stop());

  const ask = async (start: string, ...headers: string[]) => {
    const lines = [
      start,
      ...headers,
      'Connection: close',
      'Content-Type: application/json',
      'Content-Length: 2',
    ];
    const [answer] = await sendRaw(port, `${lines.join('\r\n')}\r\n\r\n{}`);
    return answer?.status;
  };

  it('refuses a request with a missing or invalid host', async () => {
    expect(await ask(`POST ${CHECK} HTTP/1.0`)).to.equal(400);
    for (const host of ['a b', '[', 'x:y', '%']) {
      expect(await ask(`POST ${CHECK} HTTP/1.1`, `Host: ${host}`), host).to.equal(400);
    }
    expect(await ask(`POST ${CHECK} HTTP/1.1`, 'Host: hub')).to.equal(200);
  });

  it('refuses the same over HTTP/2', async () => {
    const session = connect(hub.rpcUrl);
    const stream = session.request({ ':method': 'POST', ':path': CHECK, ':authority': 'x:y' });
    const [headers] = await new Promise<[Record<string, unknown>]>((resolve, reject) => {
      stream.on('response', (...all) => resolve([all[0]])).on('error', reject);
      stream.end('{}');
    });
    session.destroy();
    expect(headers[':status']).to.equal(400);
  });

  it('returns invalid_argument for a malformed message', async () => {
    const response = await fetch(`${hub.rpcUrl}${CHECK}`, {
      method: 'POST',
      headers: { 'content-type': 'application/proto' },
      body: Buffer.from('no protobuf'),
    });
    expect(response.status).to.equal(400);
    expect(await response.text()).to.match(/^\{"code":"invalid_argument","message":"parse binary: /);
  });

  it('returns the same in a Connect stream, and the gRPC code by gRPC', async () => {
    const watch = async (type: string, flags: number, message: string): Promise<string> => {
      const body = Buffer.concat([Buffer.from([flags, 0, 0, 0, message.length]), Buffer.from(message)]);
      const headers = { 'content-type': type, 'connect-content-encoding': 'gzip' };
      const url = `${hub.rpcUrl}/grpc.health.v1.Health/Watch`;
      return (await fetch(url, { method: 'POST', headers, body })).text();
    };
    expect(await watch('application/connect+proto', 0, 'no protobuf')).to.match(
      /"code":"invalid_argument","message":"parse binary: /,
    );
    expect(await watch('application/connect+proto', 1, 'not compressed')).to.match(
      /"code":"invalid_argument","message":"decompression failed/,
    );
    expect(await watch('application/grpc-web+proto', 0, 'no protobuf')).to.match(
      /grpc-message: parse%20binary.*grpc-status: 13|grpc-message: parse binary.*grpc-status: 13/s,
    );
  });

  it('returns invalid_argument for a wrongly compressed body', async () => {
    for (const coding of ['gzip', 'br']) {
      const response = await fetch(`${hub.rpcUrl}${CHECK}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-encoding': coding },
        body: '{}',
      });
      expect(response.status, coding).to.equal(400);
      expect(await response.text()).to.match(/^\{"code":"invalid_argument",/);
    }
  });

  it('refuses JSON with a lone surrogate anywhere, and accepts pairs and look-alikes', async () => {
    const ask = async (json: string) => {
      const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, json.length]), Buffer.from(json)]);
      const headers = {
        'content-type': 'application/grpc-web+json',
        authorization: `Bearer ${hub.token}`,
      };
      const url = `${hub.rpcUrl}/hub.license.v1.LicenseAdminService/ListApps`;
      return (await fetch(url, { method: 'POST', headers, body: frame })).text();
    };
    for (const json of ['{"pageSize":"\\ud800"}', '{"pageToken":"\\uDC00"}', '{"\\ud83d":1}']) {
      expect(await ask(json), json).to.match(/grpc-status: 3\r\n/);
    }
    for (const json of ['{"other":"\\ud83d\\ude00"}', '{"other":"\\\\ud800"}']) {
      expect(await ask(json), json).to.match(/grpc-status: 0\r\n/);
    }
  });

  it('refuses a deadline beyond the range of timers, without a warning of Node.js', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => warnings.push(warning);
    process.on('warning', note);
    const post = async (headers: Record<string, string>, body: string | Buffer) =>
      (await fetch(`${hub.rpcUrl}${CHECK}`, { method: 'POST', headers, body })).text();
    const byConnect = { 'content-type': 'application/json', 'connect-timeout-ms': '9999999999' };
    expect(await post(byConnect, '{}')).to.match(/"invalid_argument".*timeout/);
    const byGrpc = { 'content-type': 'application/grpc-web+json', 'grpc-timeout': '99999999H' };
    const frame = Buffer.from([0, 0, 0, 0, 2, ...Buffer.from('{}')]);
    expect(await post(byGrpc, frame)).to.match(/grpc-status: 3\r\n/);
    await new Promise(setImmediate); // warnings come a turn later
    process.off('warning', note);
    expect(warnings).to.deep.equal([]);
  });

  it('keeps serving when a caller disconnects within a message', async () => {
    const { socket } = await openRaw(port);
    const head = ['Host: hub', 'Content-Type: application/proto', 'Content-Length: 100'];
    socket.write(`POST ${CHECK} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\nabc`, () => socket.destroy());
    expect(await ask(`POST ${CHECK} HTTP/1.1`, 'Host: hub')).to.equal(200);
  });
});

describe('the adapter of RPC handlers', () => {
  it('responds with 500 and reports the error if a handler cannot be created', async () => {
    const failures: unknown[] = [];
    const broken = new Error('no handler');
    const adapter = createAdapter(
      (path) => {
        if (path === '/broken') throw broken;
        return undefined;
      },
      (error) => failures.push(error),
    );
    const server = createServer(adapter).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      expect((await fetch(`${url}/broken?again`, { method: 'POST' })).status).to.equal(500);
      expect((await fetch(`${url}/other`, { method: 'POST' })).status).to.equal(404);
      expect(failures).to.deep.equal([broken]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });
});
