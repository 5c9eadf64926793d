// The commands in the order of the help: names, groups and summaries.
//
// The text of `hubctl --help` needs only these. To load all commands for it would take longer than most commands.

/** The heading that lists the commands. */
export type Group =
  | 'Running a hub:'
  | 'Licenses:'
  | 'Payments:'
  | 'Orders:'
  | 'Events:'
  | 'Administration:'
  | 'hubctl itself:';

type ListedCommand = {
  readonly group: Group;
  readonly summary: string;
  readonly usage: '' | ' [options]' | ' <shell>' | ' [command...]';
};

export const COMMAND_LIST = {
  serve: { group: 'Running a hub:', summary: 'run a hub', usage: ' [options]' },
  demo: { group: 'Running a hub:', summary: 'run a hub with sample data', usage: ' [options]' },
  simulate: { group: 'Running a hub:', summary: 'simulate the payment providers', usage: ' [options]' },
  console: { group: 'Running a hub:', summary: 'open the console in a browser', usage: ' [options]' },
  doctor: {
    group: 'Running a hub:',
    summary: 'find problems of a hub and how to fix them',
    usage: ' [options]',
  },
  top: { group: 'Running a hub:', summary: 'live throughput and latency', usage: ' [options]' },
  app: { group: 'Licenses:', summary: 'apps and their signing keys', usage: '' },
  profile: { group: 'Licenses:', summary: 'limit profiles', usage: '' },
  key: { group: 'Licenses:', summary: 'license keys', usage: '' },
  license: { group: 'Licenses:', summary: 'issued licenses', usage: '' },
  seat: { group: 'Licenses:', summary: 'seats of a license', usage: '' },
  customer: { group: 'Licenses:', summary: 'customers', usage: '' },
  gateway: { group: 'Payments:', summary: 'kinds of payment providers', usage: '' },
  slot: { group: 'Payments:', summary: 'payment slots', usage: '' },
  session: { group: 'Payments:', summary: 'charge sessions', usage: '' },
  refund: { group: 'Payments:', summary: 'refunds and disputes', usage: '' },
  callback: { group: 'Payments:', summary: 'callbacks of payment providers', usage: '' },
  fee: { group: 'Payments:', summary: 'fee rules', usage: '' },
  usage: { group: 'Payments:', summary: 'the log of payments', usage: '' },
  offer: { group: 'Orders:', summary: 'what customers can buy', usage: '' },
  order: { group: 'Orders:', summary: 'what paid sessions bought', usage: '' },
  mail: { group: 'Orders:', summary: 'mails to customers about their orders', usage: '' },
  endpoint: { group: 'Events:', summary: 'URLs that receive events', usage: '' },
  event: { group: 'Events:', summary: 'changes of licenses, seats, payments and customers', usage: '' },
  audit: { group: 'Administration:', summary: 'who changed what', usage: '' },
  token: { group: 'Administration:', summary: 'service tokens', usage: '' },
  retention: {
    group: 'Administration:',
    summary: 'retention of callbacks, usage log, events and audit log',
    usage: '',
  },
  masterkey: { group: 'Administration:', summary: 'the keys that encrypt secrets', usage: '' },
  backup: { group: 'Administration:', summary: 'encrypted backups of a hub', usage: '' },
  migration: { group: 'Administration:', summary: 'the database schema', usage: '' },
  context: { group: 'hubctl itself:', summary: 'hubs by name', usage: '' },
  completion: { group: 'hubctl itself:', summary: 'print a completion script', usage: ' <shell>' },
  help: { group: 'hubctl itself:', summary: 'print help for a command', usage: ' [command...]' },
} as const satisfies Readonly<Record<string, ListedCommand>>;

export type CommandName = keyof typeof COMMAND_LIST;
