// The color theme: light, dark or as in the system.
import { createState } from './observable-state.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'hub-console-theme';
const kept = THEMES.find((each) => each === localStorage.getItem(KEY));

export const theme = createState<Theme>(kept ?? 'system');

const darkMedia = matchMedia('(prefers-color-scheme: dark)');
export const isSystemDark = createState(darkMedia.matches);
darkMedia.addEventListener('change', () => isSystemDark.set(darkMedia.matches));

function apply(): void {
  document.documentElement.dataset['theme'] = theme.get();
}

theme.follow(() => {
  apply();
  localStorage.setItem(KEY, theme.get());
});
apply();
