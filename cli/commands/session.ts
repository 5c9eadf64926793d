// hubctl session: charges customers, and tells what came of it.
import { type Command, Option } from 'commander';
import { parseBound, timestampOf } from '../calendar.ts';
import { NO_DEADLINE } from '../call-options.ts';
import type { Context } from '../context.ts';
import { pages } from '../pages.ts';
import { addPair, parseCount } from '../quantities.ts';
import { part } from '../reply.ts';
import { typedMoney } from '../typed-amount.ts';
import { verificationView } from '../views/callback.ts';
import {
  CHARGE_SESSION_COLUMNS,
  CHARGE_SESSION_FIELDS,
  CHARGE_STATUSES,
  chargeSessionView,
} from '../views/charge-session.ts';
import { STORY_COLUMNS, sessionStoryView, storyOf } from '../views/session-story.ts';
import { type WatchOptions, watchSession } from '../watch-session.ts';

type CreateOptions = {
  slot: string;
  amount: string;
  currency: string;
  order?: string;
  customerName?: string;
  customerEmail?: string;
  customerPhone?: string;
  metadata?: Record<string, string>;
  idempotencyKey?: string;
};

type ListOptions = {
  slot?: string;
  status?: keyof typeof CHARGE_STATUSES;
  order?: string;
  from?: Date;
  to?: Date;
  max?: number;
};

const EXAMPLE_ID = 'chs_01k8e7qk3vf2tb5s0w9m4x6ydz';

export function registerSession(program: Command, context: Context): void {
  const { hub, out } = context;
  const session = program
    .command('session')
    .summary('charge sessions')
    .description('Attempts to charge a customer through the hosted checkout of a payment provider.');

  session
    .command('create')
    .summary('create a charge session')
    .description(
      'Creates a charge session and its checkout at the provider, and prints where the customer pays.',
    )
    .requiredOption('--slot <name>', 'the payment slot to charge through')
    .requiredOption('--amount <decimal>', 'what to charge: 100.00')
    .requiredOption('--currency <code>', 'ISO 4217 code: BDT')
    .option('--order <text>', 'your own reference; need not be unique')
    .option('--customer-name <text>', 'who pays')
    .option('--customer-email <address>', 'e-mail address of the customer')
    .option('--customer-phone <number>', 'phone number of the customer')
    .option('--metadata <name=value>', 'data of your own, kept with the session; repeatable', addPair)
    .option('--idempotency-key <key>', 'a repeat with the same key returns the session of the first call')
    .addHelpText(
      'after',
      '\nExample:\n  hubctl session create --slot main --amount 100.00 --currency BDT --order ORD-1 --output json',
    )
    .action(async (options: CreateOptions) => {
      const { order, metadata = {}, idempotencyKey } = options;
      const request = {
        slot: options.slot,
        amount: typedMoney(options.amount, options.currency),
        orderReference: order ?? '',
        customer: {
          name: options.customerName ?? '',
          email: options.customerEmail ?? '',
          phone: options.customerPhone ?? '',
        },
        metadata,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      };
      const { payments } = await hub();
      const reply = await payments.createChargeSession(request, NO_DEADLINE);
      await out.record(chargeSessionView(part(reply.session, 'session')), CHARGE_SESSION_FIELDS);
    });

  session
    .command('list')
    .summary('list charge sessions')
    .description('Lists charge sessions, newest first; what is given has to match all at once.')
    .option('--slot <name>', 'only those of this slot')
    .addOption(
      new Option('--status <status>', 'only those in this status').choices(Object.keys(CHARGE_STATUSES)),
    )
    .option('--order <text>', 'only those with exactly this order reference')
    .option('--from <when>', 'only those created from this day (UTC) or time on', parseBound)
    .option('--to <when>', 'only those created before this day (UTC) or time', parseBound)
    .option('--max <n>', 'at most so many (default: all)', parseCount)
    .addHelpText('after', '\nExample:\n  hubctl session list --status pending --from 2026-03-01 --max 20')
    .action(async ({ slot, status, order, from, to, max }: ListOptions) => {
      const { payments } = await hub();
      const wanted = {
        ...(slot !== undefined && { slot }),
        ...(status !== undefined && { status: CHARGE_STATUSES[status] }),
        ...(order !== undefined && { orderReference: order }),
        ...(from !== undefined && { createdFrom: timestampOf(from) }),
        ...(to !== undefined && { createdTo: timestampOf(to) }),
      };
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { sessions, nextPageToken } = await payments.listChargeSessions({ ...wanted, ...page });
        return { items: sessions.map(chargeSessionView), next: nextPageToken };
      };
      const count = await out.list(pages(fetchPage, max), CHARGE_SESSION_COLUMNS);
      if (count === 0) out.note('No session matches.');
    });

  session
    .command('inspect')
    .summary('tell the whole story of a session')
    .description(
      'Tells what happened to a session, in order: its callbacks, what the provider was asked and answered, why its status is what it is, its usage log and its fees.',
    )
    .argument('<sessionId>', 'the session, chs_…')
    .addHelpText('after', `\nExample:\n  hubctl session inspect ${EXAMPLE_ID}`)
    .action(async (sessionId: string) => {
      const { payments } = await hub();
      const story = sessionStoryView(await payments.inspectChargeSession({ sessionId }));
      await out.record(story, CHARGE_SESSION_FIELDS);
      if (out.json()) return;
      await out.text('\n');
      await out.list([storyOf(story)], STORY_COLUMNS);
    });

  session
    .command('watch')
    .summary('print each change of a session')
    .description(
      'Prints the status of a session now and after each change, a line each (a JSON object a line with --output json), until Ctrl-C.',
    )
    .argument('<sessionId>', 'the session, chs_…')
    .option('--until-final', 'end once the session is success, failed or cancelled')
    .addHelpText('after', `\nExample:\n  hubctl session watch ${EXAMPLE_ID} --until-final`)
    .action((sessionId: string, options: WatchOptions) => watchSession(context, sessionId, options));

  session
    .command('recheck')
    .summary('ask the provider now')
    .description(
      'Asks the provider what became of a session, and settles the session by its answer. The only way by which a paid session is found to be reversed.',
    )
    .argument('<sessionId>', 'the session, chs_…')
    .addHelpText('after', `\nExample:\n  hubctl session recheck ${EXAMPLE_ID}`)
    .action(async (sessionId: string) => {
      const { payments } = await hub();
      const reply = await payments.recheckChargeSession({ sessionId }, NO_DEADLINE);
      const verification = verificationView(part(reply.verification, 'answer of the provider'));
      const view = { ...chargeSessionView(part(reply.session, 'session')), verification };
      await out.record(view, [
        ...CHARGE_SESSION_FIELDS,
        {
          title: 'Provider says',
          cell: () => `${verification.operation}: ${verification.outcome}, ${verification.detail}`,
        },
      ]);
    });
}
