// Entry point: shows the sign-in page, or the view of the current route.
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Shell } from './components/shell.tsx';
import { useValue } from './observable-state.ts';
import { keptToken, SignedInContext, signedIn, signIn, signOut } from './sign-in-state.ts';
import './theme.ts';
import { SignInView } from './views/sign-in.tsx';
import { View } from './views/view.tsx';

function Console() {
  const who = useValue(signedIn);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const token = keptToken();
    if (token === undefined) return setReady(true);
    signIn(token, true)
      .catch(() => signOut())
      .finally(() => setReady(true));
  }, []);
  if (who === undefined) return isReady ? <SignInView /> : null;
  return (
    <SignedInContext.Provider value={who}>
      <Shell>
        <View />
      </Shell>
    </SignedInContext.Provider>
  );
}

const place = document.getElementById('console');
if (place) render(<Console />, place);
