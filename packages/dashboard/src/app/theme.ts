export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'flotilla.theme'

export function readTheme(): Theme {
  try {
    const kept = window.localStorage.getItem(key)
    return themes.find((theme) => theme === kept) ?? 'system'
  } catch {
    return 'system'
  }
}

/** Shows it now, and keeps it in this browser where that keeps anything. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  window.dispatchEvent(new Event(themeChanged))
  try {
    window.localStorage.setItem(key, theme)
  } catch {
    // It lasts as long as the page.
  }
}

/** Told to what draws by itself, such as charts. */
export const themeChanged = 'flotilla-theme-changed'
