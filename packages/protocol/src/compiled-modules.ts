/**
 * The folder where our programs keep what Node compiled of their modules, for their next start. `cacheHome` is
 * `XDG_CACHE_HOME`, which counts only as an absolute path (XDG Base Directory Specification).
 */
export function compiledModulesFolder(cacheHome: string | undefined, userHome: string): string {
  const caches = cacheHome?.startsWith('/') ? cacheHome : `${userHome}/.cache`
  return `${caches}/flotilla/compiled`
}
