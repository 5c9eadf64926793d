// The sign-in form. The token field has no name, so that a native form submission cannot send it.
import { Code, ConnectError } from '@connectrpc/connect';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Brand } from '../components/brand.tsx';
import { Trouble } from '../components/loaded.tsx';
import { explain } from '../explain-error.ts';
import { useValue } from '../observable-state.ts';
import { signIn, signOutReason } from '../sign-in-state.ts';

export function SignInView() {
  const reason = useValue(signOutReason);
  const [token, setToken] = useState('');
  const [keep, setKeep] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState('');
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    document.title = 'Sign in · Hub console';
    field.current?.focus();
  }, []);
  const enter = async (shown: string | undefined): Promise<void> => {
    setBusy(true);
    setFailure('');
    try {
      await signIn(shown, keep);
    } catch (error) {
      const isUnknown = ConnectError.from(error).code === Code.Unauthenticated;
      setFailure(isUnknown && shown === undefined ? NO_CERTIFICATE : explain(error));
      setBusy(false);
      field.current?.select();
    }
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (token.trim() !== '' && !busy) void enter(token.trim());
  };
  return (
    <main class="sign-in">
      <Brand />
      <h1>Sign in</h1>
      {reason !== '' && <Trouble>{reason}</Trouble>}
      {!isSecureContext && <Trouble>{IN_CLEAR}</Trouble>}
      <form onSubmit={submit}>
        <label>
          <span>Token</span>
          <input
            ref={field}
            type="password"
            value={token}
            autocomplete="off"
            spellcheck={false}
            placeholder="hub_…"
            aria-describedby="about-token"
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
          <span>Keep me signed in until this tab is closed</span>
        </label>
        {failure !== '' && <Trouble>{failure}</Trouble>}
        <div class="buttons">
          {location.protocol === 'https:' && (
            <button type="button" disabled={busy} onClick={() => void enter(undefined)}>
              Use my client certificate
            </button>
          )}
          <button type="submit" class="solid" disabled={busy || token.trim() === ''}>
            {busy ? 'Signing in …' : 'Sign in'}
          </button>
        </div>
      </form>
      <div id="about-token" class="muted">
        <p>
          To look around without being able to change anything, make a token of your own:{' '}
          <code>hubctl token create --role viewer --expires 1d</code>
        </p>
        <p>
          On the hub’s own machine, an admin token is in the file <code>admin-token</code> of its data
          directory.
        </p>
      </div>
    </main>
  );
}

const NO_CERTIFICATE =
  'The hub knows no client certificate of this browser. Sign in with a token, or have the certificate registered with hubctl token create --certificate-subject.';

const IN_CLEAR =
  'This connection is not encrypted: your token would be sent in plain text. Use a tunnel (ssh -L) or TLS instead; see docs/console.md.';
