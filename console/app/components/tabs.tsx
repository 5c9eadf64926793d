// Tabs that choose the state of what a list shows.
import { linkTo, useRoute } from '../route.ts';

export type Tab = readonly [state: string, title: string, ...unknown[]];

export function StateTabs({ tabs, state }: { readonly tabs: readonly Tab[]; readonly state: string }) {
  const { path } = useRoute();
  return (
    <nav class="tabs" aria-label="State">
      {tabs.map(([name, title]) => (
        <a key={name} href={linkTo(path, { state: name })} aria-current={name === state ? 'true' : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}
