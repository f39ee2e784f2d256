/**
 * Where this user's programs keep what they can make again. `cacheHome` is `XDG_CACHE_HOME`, which counts only as an
 * absolute path (XDG Base Directory Specification).
 */
export function cachesFolder(cacheHome: string | undefined, userHome: string): string {
  return cacheHome?.startsWith('/') ? cacheHome : `${userHome}/.cache`
}

/** The folder where our programs keep what Node compiled of their modules, for their next start. */
export function compiledModulesFolder(cacheHome: string | undefined, userHome: string): string {
  return `${cachesFolder(cacheHome, userHome)}/flotilla/compiled`
}
