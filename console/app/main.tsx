// Entry point: shows the sign-in page, or the view of the current route.
import { render } from 'preact';
import { Shell } from './components/shell.tsx';
import { useValue } from './observable-state.ts';
import { keptToken, SignedInContext, signedIn } from './sign-in-state.ts';
import './theme.ts';
import { SignInView } from './views/sign-in.tsx';
import { SignInAgainView } from './views/sign-in-again.tsx';
import { View } from './views/view.tsx';

function Console() {
  const who = useValue(signedIn);
  const token = useValue(keptToken);
  if (who === undefined) return token === undefined ? <SignInView /> : <SignInAgainView token={token} />;
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
