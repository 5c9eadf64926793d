// A list of names and values that describes one resource.
import { isMessage } from '@bufbuild/protobuf';
import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { ComponentChildren } from 'preact';
import { type Money, MoneySchema } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { Amount, Moment } from './inline.tsx';

export type Fact = readonly [name: string, value: ComponentChildren | Date | Timestamp | Money];

/** Omits facts without a value. Shows times and amounts of money as everywhere. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(([name, value]) =>
        value === '' || value === undefined || value === null || value === false ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{shown(value)}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function shown(value: Fact[1]): ComponentChildren {
  if (value instanceof Date || isMessage(value, TimestampSchema)) return <Moment at={value} />;
  return isMessage(value, MoneySchema) ? <Amount money={value} /> : value;
}

/** Metadata or fields as name-value pairs. */
export function pairFacts(pairs: Readonly<Record<string, string>>, prefix = ''): [string, string][] {
  const sorted = Object.entries(pairs).sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([name, value]) => [`${prefix}${name}`, value]);
}
