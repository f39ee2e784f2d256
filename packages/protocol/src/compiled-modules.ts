/**
 * Where this user's programs keep what they can make again. `cacheHome` is `XDG_CACHE_HOME`, which counts only as an
 * absolute path (XDG Base Directory Specification).
 */
export function cachesFolder(cacheHome: string | undefined, userHome: string): string {
  return cacheHome?.startsWith('/') ? cacheHome : `${userHome}/.cache`
}

/** Of those, the one for what was compiled of the files beside the one that was started: a folder for each build. */
export function compiledProgramFolder(
  cacheHome: string | undefined,
  userHome: string,
  startedFile: string | undefined,
): string {
  const folder = startedFile?.split('/').at(-2) ?? ''
  return `${compiledModulesFolder(cacheHome, userHome)}/${folder}`
}

/** The folder where our programs keep what Node compiled of their modules, for their next start. */
export function compiledModulesFolder(cacheHome: string | undefined, userHome: string): string {
  return `${cachesFolder(cacheHome, userHome)}/flotilla/compiled`
}
