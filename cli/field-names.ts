// What a command calls the fields of the requests it makes, to say of its own options what the hub says of fields.
import type { Command } from 'commander';

/** What a command calls a request field: `--seats` for seatLimit. Its arguments are called as the fields are. */
export function nameOf(command: Command, field: string): string {
  const innermost = field.slice(field.lastIndexOf('.') + 1);
  const name = OPTION_OF_FIELD[innermost] ?? innermost;
  return command.options.find((option) => option.attributeName() === name)?.long ?? field;
}

/** Options that are not called like the request field they set. */
const OPTION_OF_FIELD: Readonly<Record<string, string>> = {
  seatLimit: 'seats',
  limits: 'limit',
  limitProfile: 'profile',
  expiresAt: 'expires',
  keyHint: 'hint',
  pageSize: 'max',
  orderReference: 'order',
  sessionId: 'session',
  minorUnits: 'amount',
  createdFrom: 'from',
  createdTo: 'to',
  settledFrom: 'from',
  settledTo: 'to',
  credentials: 'credentialsFile',
  options: 'option',
  fixedMinorUnits: 'fixed',
  minMinorUnits: 'min',
  maxMinorUnits: 'max',
  validFrom: 'from',
  validTo: 'to',
};
