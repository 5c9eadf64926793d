// The export of the usage log: its pages, and its file after a failure.
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { createClient, createRouterTransport } from '@connectrpc/connect';
import { expect } from 'chai';
import type { CommandContext } from '../../../cli/command-context.ts';
import type { Hub } from '../../../cli/connect/connection.ts';
import { createInterruption, type Interruption } from '../../../cli/interrupt/interruption.ts';
import { exportUsage } from '../../../cli/output/export-usage.ts';
import { createOutput } from '../../../cli/output/output.ts';
import { createProgress } from '../../../cli/output/progress.ts';
import { AccessService } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { EventService } from '../../../gen/hub/event/v1/event_service_pb.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { MailService } from '../../../gen/hub/mail/v1/mail_service_pb.ts';
import { MetricsService } from '../../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import { OrderService } from '../../../gen/hub/order/v1/order_service_pb.ts';
import {
  type ListUsageLogsRequest,
  type ListUsageLogsResponseSchema,
  PaymentAdminService,
} from '../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { UsageLogKind, UsageLogSchema } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../../gen/hub/payment/v1/payment_service_pb.ts';
import { RefundService } from '../../../gen/hub/payment/v1/refund_service_pb.ts';
import { RetentionService } from '../../../gen/hub/retention/v1/retention_service_pb.ts';
import { until } from '../../support/until.ts';

type Reply = MessageInitShape<typeof ListUsageLogsResponseSchema>;
type Page = (request: ListUsageLogsRequest) => Reply | Promise<Reply>;

type Differing = { kind?: UsageLogKind; minorUnits?: bigint; reversesUsageLogId?: string };

function entry(
  usageLogId: string,
  orderReference = 'ORD',
  { kind = UsageLogKind.PAYMENT, minorUnits = 10_050n, reversesUsageLogId = '' }: Differing = {},
) {
  return create(UsageLogSchema, {
    usageLogId,
    kind,
    ...(kind === UsageLogKind.PAYMENT && { received: { minorUnits: 9_799n, currency: 'BDT' } }),
    reversesUsageLogId,
    sessionId: 'chs_1',
    slot: 'main',
    gateway: 'gateway_one',
    gatewayTransactionId: 'V1',
    amount: { minorUnits, currency: 'BDT' },
    fees: [
      { rule: 'processing', ruleVersion: 2, amount: { minorUnits: 151n, currency: 'BDT' } },
      { rule: 'tax', ruleVersion: 1, amount: { minorUnits: 9n, currency: 'BDT' } },
    ],
    feeTotal: { minorUnits: 160n, currency: 'BDT' },
    orderReference,
    settledAt: { seconds: 1_772_360_430n, nanos: 456_000_000 },
  });
}

function contextOver(page: Page, isTTY = false) {
  const transport = createRouterTransport(({ service }) => {
    service(PaymentAdminService, { listUsageLogs: page });
  });
  const hub: Hub = {
    access: createClient(AccessService, transport),
    admin: createClient(LicenseAdminService, transport),
    audit: createClient(AuditService, transport),
    customers: createClient(CustomerService, transport),
    events: createClient(EventService, transport),
    mails: createClient(MailService, transport),
    metrics: createClient(MetricsService, transport),
    offers: createClient(OfferService, transport),
    orders: createClient(OrderService, transport),
    payments: createClient(PaymentService, transport),
    paymentAdmin: createClient(PaymentAdminService, transport),
    refunds: createClient(RefundService, transport),
    retention: createClient(RetentionService, transport),
    tokens: createClient(TokenService, transport),
  };
  const streams = {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: Object.assign(new PassThrough(), { isTTY }),
  };
  const progress = createProgress(streams, {});
  const out = createOutput(streams, () => true, progress);
  const commandContext: Pick<CommandContext, 'progress' | 'out' | 'hub' | 'streams' | 'interruption'> = {
    progress,
    out,
    hub,
    streams,
    interruption: createInterruption({ note: out.note, fail: () => {} }),
  };
  opened.push(commandContext.interruption);
  return { commandContext, streams };
}

const REVERSAL = entry('use_2', '=1+1,"x"', {
  kind: UsageLogKind.REVERSAL,
  minorUnits: -10_050n,
  reversesUsageLogId: 'use_1',
});

const opened: Interruption[] = [];

const twoPages: Page = ({ pageToken }) =>
  pageToken === ''
    ? { usageLogs: [REVERSAL], nextPageToken: 'next' }
    : { usageLogs: [entry('use_1')], nextPageToken: '' };

describe('the export of the usage log', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hub-test-'));
    file = join(folder, 'usage.csv');
  });
  afterEach(async () => {
    for (const interruption of opened.splice(0)) interruption.release();
    await rm(folder, { recursive: true });
  });

  it('writes CSV with amounts as decimals and minor units, without formulas', async () => {
    const { commandContext, streams } = contextOver(twoPages);
    await exportUsage(commandContext, { format: 'csv', out: file });
    expect(await readFile(file, 'utf8')).to.equal(
      [
        'usageLogId,sessionId,slot,gateway,gatewayTransactionId,orderReference,currency,amount,minorUnits,feeTotal,feeTotalMinorUnits,fees,settledAt,reversedAt,kind,reversesUsageLogId,received,receivedMinorUnits,receivedCurrency',
        `use_2,chs_1,main,gateway_one,V1,"'=1+1,""x""",BDT,-100.50,-10050,1.60,160,processing=1.51;tax=0.09,2026-03-01T10:20:30.456Z,,reversal,use_1,,,`,
        'use_1,chs_1,main,gateway_one,V1,ORD,BDT,100.50,10050,1.60,160,processing=1.51;tax=0.09,2026-03-01T10:20:30.456Z,,payment,,97.99,9799,BDT',
        '',
      ].join('\r\n'),
    );
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(JSON.parse(String(streams.stdout.read()))).to.deep.equal({ file, exported: 2 });
    expect(streams.stderr.read()).to.equal(null);
  });

  it('writes JSON lines to standard output', async () => {
    const { commandContext, streams } = contextOver(twoPages);
    await exportUsage(commandContext, { format: 'jsonl' });
    const lines = String(streams.stdout.read()).trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line).usageLogId)).to.deep.equal(['use_2', 'use_1']);
    expect(JSON.parse(lines[1] ?? '').feeTotal).to.deep.equal({
      amount: '1.60',
      minorUnits: 160,
      currency: 'BDT',
    });
  });

  it('requests pages of a thousand with the filter, and counts on a terminal', async () => {
    const asked: ListUsageLogsRequest[] = [];
    const { commandContext, streams } = contextOver(async (request) => {
      asked.push(request);
      if (request.pageToken !== '') await until(() => streams.stderr.readableLength > 0, 'progress is shown');
      return twoPages(request);
    }, true);
    const from = new Date('2026-01-01T00:00:00Z');
    await exportUsage(commandContext, { format: 'csv', out: file, slot: 'main', from });
    expect(asked.map(({ pageSize, pageToken, slot }) => [pageSize, pageToken, slot])).to.deep.equal([
      [1000, '', 'main'],
      [1000, 'next', 'main'],
    ]);
    expect(asked[0]?.settledFrom?.seconds).to.equal(1_767_225_600n);
    const drawn = String(streams.stderr.read()).split('\r\x1b[2K');
    expect([drawn[1], drawn.at(-1)]).to.deep.equal(['Exported 1, 1 s', '']);
  });

  it('reports how much is in the file if it fails', async () => {
    const { commandContext } = contextOver((request) => {
      if (request.pageToken !== '') throw new Error('gone');
      return twoPages(request);
    });
    const failed = await exportUsage(commandContext, { format: 'csv', out: file }).catch(
      (error: Error) => error,
    );
    expect(failed).to.have.property('message', `${file} has the first 1 entries only.`);
    expect(await readFile(file, 'utf8')).to.contain('use_2');
  });

  it('keeps an existing file if nothing arrives, and creates none', async () => {
    const nothing: Page = () => {
      throw new Error('gone');
    };
    await writeFile(file, 'mine');
    const run = (out: string, force?: true) =>
      exportUsage(contextOver(nothing).commandContext, { format: 'csv', out, ...(force && { force }) }).then(
        () => 'done',
        (error: Error) => error.message,
      );
    expect(await run(file)).to.contain('exists');
    expect(await run(file, true)).to.contain('internal');
    expect(await readFile(file, 'utf8')).to.equal('mine');
    const other = join(folder, 'other.csv');
    expect(await run(other)).to.contain('internal');
    expect(await stat(other).catch(() => 'none')).to.equal('none');
  });

  it('writes only the header if nothing was paid', async () => {
    await writeFile(file, 'a longer text than the header, which has to go\n'.repeat(20));
    await exportUsage(contextOver(() => ({})).commandContext, { format: 'csv', out: file, force: true });
    expect((await readFile(file, 'utf8')).split('\r\n')).to.have.length(2);
  });
});
