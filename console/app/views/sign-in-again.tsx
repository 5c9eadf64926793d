// Signs in with the token that the tab keeps, and asks again while the hub cannot answer.
import { Brand } from '../components/brand.tsx';
import { Loaded } from '../components/loaded.tsx';
import { useLive } from '../poll-hub.ts';
import { signInAgain, signOut } from '../sign-in-state.ts';

const RETRY_MS = 1_000;

export function SignInAgainView({ token }: { readonly token: string }) {
  const live = useLive('sign-in', RETRY_MS, (signal) => signInAgain(token, signal));
  // The page stays empty until the first error. Most answers come before.
  if (live.error === undefined) return null;
  return (
    <main class="sign-in">
      <Brand />
      <h1>Sign in</h1>
      <Loaded live={live}>{() => null}</Loaded>
      <p class="muted">This tab still keeps your token, and the console asks again by itself.</p>
      <div class="buttons">
        <button type="button" onClick={() => signOut()}>
          Sign out
        </button>
      </div>
    </main>
  );
}
