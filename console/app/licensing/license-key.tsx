// Shows the key of a license, and replaces it.
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { Confirm } from '../components/confirm.tsx';
import { CopyText } from '../forms/copy-text.tsx';
import { useSignedIn } from '../sign-in-state.ts';

export function ShowKey({ license }: { readonly license: License }) {
  const { hub } = useSignedIn();
  const { licenseId, keyHint } = license;
  const show = async () => {
    const { licenseKey } = await hub.licenses.getLicenseKey({ licenseId });
    return {
      announce: `The key …${keyHint} is shown.`,
      show: (
        <>
          <p>Anyone who has this key can activate machines until all seats are taken.</p>
          <KeyTexts keys={[licenseKey]} />
        </>
      ),
    };
  };
  return (
    <Confirm action="Show key" question="Show the license key?" run={show}>
      <p>The audit log records that you saw the key. Nothing else changes.</p>
    </Confirm>
  );
}

export function Rekey({ license }: { readonly license: License }) {
  const { hub } = useSignedIn();
  const { licenseId, keyHint, seats } = license;
  const rekey = async (_reason: string, idempotencyKey: string) => {
    const { licenseKey } = await hub.licenses.rekeyLicense({ licenseId, idempotencyKey });
    return {
      announce: 'The license has a new key.',
      show: (
        <>
          <p>The old key works no more. Give the new one to the customer.</p>
          {licenseKey === '' ? (
            <p>The key was replaced again in the meantime. Use “Show key” to see the current one.</p>
          ) : (
            <KeyTexts keys={[licenseKey]} />
          )}
        </>
      ),
    };
  };
  return (
    <Confirm action="Re-key" question="Replace the license key?" word={keyHint} dangerous run={rekey}>
      <p>
        The key …{keyHint} stops at once: nobody can activate or release a machine with it. The hub shows the
        new key next.
      </p>
      <p>
        {seats?.used === 1 ? '1 machine keeps its seat' : `${seats?.used ?? 0} machines keep their seats`}.
        Their signed copies and checks stay good.
      </p>
    </Confirm>
  );
}

export function KeyTexts({ keys }: { readonly keys: readonly string[] }) {
  const isOne = keys.length === 1;
  return (
    <CopyText
      label={isOne ? 'License key' : 'License keys'}
      what={isOne ? 'the key' : `the ${keys.length} keys`}
      lines={keys}
    />
  );
}
