// The keys of refunded licenses: whether they activate, by the policy of their offers.
import { parseId } from '../../../core/ids.ts';
import type { RefundPolicyName } from '../../../core/order/entities.ts';
import { activate } from '../../support/network/rest.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import type { Cluster } from '../scenes/cluster.ts';
import { anyHub, type Bought } from './payment-fixture.ts';

/** The keys that a session issued, which its claim token does not show after a refund. */
export type LicensedSession = { readonly sessionId: string; readonly keys: readonly string[] };

const GRANT_MS = 120_000;

/** Waits until the session is paid, and reads its keys. */
export async function readKeys(cluster: Cluster, { session, claimToken }: Bought): Promise<LicensedSession> {
  const { sessionId } = session;
  let keys: readonly string[] | undefined;
  const isGranted = async (): Promise<boolean> => {
    const answer = await anyHub(cluster, 0)
      ?.orders.getClaimedOrder({ sessionId, claimToken })
      .catch(() => undefined);
    if (answer !== undefined && answer.orderId !== '') {
      keys = answer.licenses.flatMap(({ licenseKey }) => (licenseKey === '' ? [] : [licenseKey]));
    }
    return keys !== undefined;
  };
  await until(isGranted, `session ${sessionId} has its order`, GRANT_MS);
  return { sessionId, keys: keys ?? [] };
}

/** Keys of refunded orders that activate although they should not, or do not although the offer keeps them. */
export async function refundedKeyTrouble(
  { databaseUrl, gateways }: Cluster,
  licensed: readonly LicensedSession[],
): Promise<string[]> {
  const refunded = await query<{ id: string; policy: RefundPolicyName }>(
    databaseUrl,
    `select o.session_id as id, v.on_refund as policy from sales_order o
       join purchase p on p.session_id = o.session_id join offer_version v on v.id = p.offer_version_id
     where o.state = 'refunded'`,
  );
  const policies = new Map(refunded.map(({ id, policy }) => [id, policy]));
  const trouble: string[] = [];
  for (const { sessionId, keys } of licensed) {
    const policy = policies.get(parseId('chs', sessionId) ?? '');
    for (const key of keys) {
      const { status } = await activate(gateways()[0] ?? '', key, 'machine');
      const isUsable = policy === undefined || policy === 'keep';
      if ((status === 200) !== isUsable) {
        trouble.push(`a key of ${sessionId}, refunded with ${policy}, is answered with ${status}`);
      }
    }
  }
  return trouble;
}
