// Wires the journal and the processing of callbacks.
import { inTaskSpan } from '../../lib/tracing/callback-spans.ts';
import { formatId } from '../ids.ts';
import { createCountCallback } from './callbacks/count-unjournaled.ts';
import { startStrays } from './callbacks/enqueue-strays.ts';
import { createJobs } from './callbacks/job-queue.ts';
import { createJournal } from './callbacks/journal.ts';
import { createJournaledCallbacks } from './callbacks/journaled-callbacks.ts';
import { createOpenSigned } from './callbacks/open-signed.ts';
import { createProcessCallback, type ProcessCallback } from './callbacks/process.ts';
import { createReceiveCallback } from './callbacks/receive.ts';
import { createFinishOtherCheckout } from './duplicates/finish-other-checkout.ts';
import { type PaymentContext, sweepSchedule } from './module-options.ts';
import { createCreateFromSale } from './sessions/create-from-sale.ts';
import type { wireRefunds } from './wire-refunds.ts';
import type { VerificationParts } from './wire-verification.ts';

type Parts = VerificationParts & Pick<ReturnType<typeof wireRefunds>, 'refundCallbacks'>;

/** More would only wait for each other, for connections and for the provider. */
const MAX_INLINE = 256;
const CLOSE_GRACE_MS = 5_000;

export async function wireCallbacks(context: PaymentContext, parts: Parts) {
  const { shared, tasks, undo, inlineMs } = context;
  const jobs = await wireJobs(context);
  const { process, receiveCallback } = wireProcessing(context, parts);
  await jobs.work(workOn(process, context));
  const strays = startStrays({ ...shared, jobs, task: tasks.of('strays'), afterMs: inlineMs });
  undo.defer(() => strays.stop());
  return { jobs, process, receiveCallback };
}

async function wireJobs({ shared, db, logger, undo, leaseMs, inlineMs }: PaymentContext) {
  const onError = (err: Error) => logger.warn({ err }, 'the job queue reported an error');
  const options = {
    ...shared,
    schema: db.schema,
    startAfterMs: inlineMs,
    expireAfterMs: leaseMs + 5_000,
    onError,
  };
  return undo.adopt(await createJobs(options), (jobs) => jobs.stop(CLOSE_GRACE_MS));
}

function wireProcessing(context: PaymentContext, parts: Parts) {
  const { shared, sealer, sales, config, leaseMs, undo } = context;
  const journal = createJournal({
    ...shared,
    ...parts,
    leaseMs,
    limit: config.sessionCallbacks,
    count: createCountCallback({ ...shared, ...parts }),
  });
  const process = createProcessCallback({
    ...shared,
    ...parts,
    journaled: createJournaledCallbacks(shared.pool, shared.clock),
    finishOtherCheckout: createFinishOtherCheckout(shared),
    createFromSale: createCreateFromSale({ ...shared, ...parts, sales, schedule: sweepSchedule(config) }),
    busyWaitMs: config.callbackBudgetMs,
  });
  const receiveCallback = createReceiveCallback({
    ...shared,
    journal,
    process,
    openSigned: createOpenSigned({ ...shared, sealer }),
    budgetMs: config.callbackBudgetMs,
    maxInline: MAX_INLINE,
  });
  undo.defer(() => receiveCallback.idle());
  context.metrics.gauge(
    {
      name: 'hub_callbacks_under_way',
      help: 'Callbacks being processed within the request that delivered them.',
    },
    () => receiveCallback.inFlight,
  );
  return { process, receiveCallback };
}

function workOn(process: ProcessCallback, { logger }: PaymentContext) {
  const work = async (id: string): Promise<void> => {
    try {
      await process.byId(id, 'job');
    } catch (error) {
      // pg-boss does not report the error.
      logger.error({ callbackId: formatId('cb', id), err: error }, 'cannot process the callback');
      throw error;
    }
  };
  return (id: string) => inTaskSpan('callback job', formatId('cb', id), () => work(id));
}
