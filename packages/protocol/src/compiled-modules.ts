/**
 * The cache folder of this user's programs. `cacheHome` is `XDG_CACHE_HOME`, which counts only as an absolute path
 * (XDG Base Directory Specification).
 */
export function cachesFolder(cacheHome: string | undefined, userHome: string): string {
  return cacheHome?.startsWith('/') ? cacheHome : `${userHome}/.cache`
}

/** The cache folder for the compiled modules of the started build: each build has its own folder. */
export function compiledProgramFolder(
  cacheHome: string | undefined,
  userHome: string,
  startedFile: string | undefined,
): string {
  const folder = startedFile?.split('/').at(-2) ?? ''
  return `${compiledModulesFolder(cacheHome, userHome)}/${folder}`
}

/** The folder where our programs keep what Node compiled of their modules, so that their next start is faster. */
export function compiledModulesFolder(cacheHome: string | undefined, userHome: string): string {
  return `${cachesFolder(cacheHome, userHome)}/flotilla/compiled`
}
