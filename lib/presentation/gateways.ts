// The payment gateways, for parts of the hub that do not know their drivers. `npm run gen` writes the list.

export type Gateway = {
  readonly name: string;
  /** The headers with the signature of a callback's body; undefined if its callbacks have fields instead. */
  readonly signatureHeaders?: readonly string[];
  /** Whether offers can name prices of its catalog. */
  readonly hasPrices?: true;
};

export const GATEWAYS: readonly Gateway[] = [
  { name: 'gateway_one' },
  { name: 'gateway_two' },
  { name: 'stripe', signatureHeaders: ['stripe-signature'], hasPrices: true },
];
