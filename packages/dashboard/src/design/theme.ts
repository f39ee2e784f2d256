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

/** Applies the theme now, and stores it in this browser if storage is available. */
export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
  window.dispatchEvent(new Event(themeChanged))
  try {
    window.localStorage.setItem(key, theme)
  } catch {
    // Without storage, the theme lasts until the page is closed.
  }
}

/** The DOM event for components that draw with fixed colors, such as charts. */
export const themeChanged = 'flotilla-theme-changed'
