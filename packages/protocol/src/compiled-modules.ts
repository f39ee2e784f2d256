/**
 * The folder where our programs keep what Node compiled of their modules, for their next start. `cacheHome` is
 * `XDG_CACHE_HOME` where it is set (XDG Base Directory Specification).
 */
export function compiledModulesFolder(cacheHome: string | undefined, userHome: string): string {
  return `${cacheHome ?? `${userHome}/.cache`}/flotilla/compiled`
}
