// Builds a fee rule from command options.
import { usageError } from '../errors/failure.ts';
import { parseAmountOption } from './amount-option.ts';

export type FeeTermOptions = {
  readonly gateway?: string;
  readonly slot?: string;
  readonly currency?: string;
  /** Basis points, given as a percentage. */
  readonly percent?: number;
  readonly basisPoints?: number;
  readonly fixed?: string;
  readonly minFee?: string;
  readonly maxFee?: string;
  readonly slotsMayOverride?: true;
};

/**
 * Builds the rule for a request.
 * @throws CliError (usage) for options that contradict or require each other
 */
export function parseFeeTerms(name: string, options: FeeTermOptions) {
  const { gateway = '', slot = '', currency = '', percent, basisPoints, fixed, minFee, maxFee } = options;
  if (percent !== undefined && basisPoints !== undefined) {
    throw usageError('--percent, --basis-points: give one of them, not both');
  }
  if (percent === undefined && basisPoints === undefined && fixed === undefined) {
    throw usageError('Give the fee with --percent, --basis-points or --fixed.');
  }
  const amount = (option: string, decimal: string): bigint => {
    if (currency === '') throw usageError(`${option} is an amount of money: give its --currency as well.`);
    return parseAmountOption(option, decimal, currency);
  };
  return {
    name,
    gateway,
    slot,
    currency,
    basisPoints: percent ?? basisPoints ?? 0,
    fixedMinorUnits: fixed === undefined ? 0n : amount('--fixed', fixed),
    ...(minFee !== undefined && { minMinorUnits: amount('--min-fee', minFee) }),
    ...(maxFee !== undefined && { maxMinorUnits: amount('--max-fee', maxFee) }),
    ...(options.slotsMayOverride && { slotsMayOverride: true }),
  };
}
