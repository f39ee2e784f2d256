/** Paths that come from the agent image, with everything below them: the agent's own process and what it runs from. */
const agentPlaces = [
  'opt/flotilla',
  'usr/local/bin/node',
  'usr/local/bin/npm',
  'usr/local/bin/npx',
  'usr/local/lib/npm',
  'usr/local/etc/npmrc',
  // The authorities of the distribution and of the owner.
  'etc/ssl/certs/ca-certificates.crt',
  'data',
  'briefing',
] as const

/** Paths that an image of the owner cannot have, with everything below them: the engine mounts something there. */
const droppedPlaces = ['dev', 'proc', 'sys', 'tmp', '.dockerenv', 'etc/ld.so.preload'] as const

/** Paths that must be folders where the image has them, because a link would lead what is added to other places. */
const neededFolders: ReadonlySet<string> = new Set([
  'usr',
  'usr/local',
  'usr/local/bin',
  'usr/local/lib',
  'usr/local/etc',
  'opt',
  'etc',
  'etc/ssl',
  'etc/ssl/certs',
  'data',
  'briefing',
  'dev',
  'proc',
  'sys',
  'tmp',
])
/** A file, a hard link, a symbolic link and a folder. Devices and pipes are left out. */
const keptTypes: ReadonlySet<string> = new Set(['0', '1', '2', '5'])

const isBelow = (path: string, place: string): boolean => path === place || path.startsWith(`${place}/`)

/** Returns whether a path comes from the agent image. Pure. */
export function isOfAgentImage(path: string): boolean {
  return agentPlaces.some((place) => isBelow(path, place))
}

/** Returns whether an entry of the owner's image is kept. Pure. */
export function isKeptOfOwn({ path, type }: { readonly path: string; readonly type: string }): boolean {
  if (path === '' || !keptTypes.has(type) || isOfAgentImage(path)) return false
  // The folders themselves stay, because the engine mounts over them.
  return !droppedPlaces.some((place) => isBelow(path, place) && !(path === place && type === '5'))
}

/** Returns whether an image must not have this entry, because it leads what is added to another place. Pure. */
export function misleads({ path, type }: { readonly path: string; readonly type: string }): boolean {
  return type !== '5' && neededFolders.has(path)
}

/** Names of variables that are kept: languages, time zones, and places of programs. They make no program run code. */
const keptVariable = /^(?:LANG|LANGUAGE|LC_[A-Z]+|TZ|[A-Z][A-Z0-9]*_HOME)$/
/** Values that stand in a recipe as they are. */
const plainValue = /^[\w./:@+,=-]*$/

/**
 * Returns the environment of the image that is made: of the owner's image, only variables by which no program runs other
 * code, and folders of programs behind those of the agent image. Pure.
 */
export function keptEnvironment(environment: readonly string[], programsPath: string): readonly string[] {
  const pairs = environment.map((line) => {
    const at = line.indexOf('=')
    return { name: line.slice(0, at), value: line.slice(at + 1) }
  })
  const known = programsPath.split(':')
  const folders = (pairs.findLast(({ name }) => name === 'PATH')?.value ?? '')
    .split(':')
    .filter((folder) => folder.startsWith('/') && plainValue.test(folder) && !known.includes(folder))
  return [
    `PATH=${[...known, ...new Set(folders)].join(':')}`,
    ...pairs
      .filter(({ name, value }) => keptVariable.test(name) && plainValue.test(value))
      .map(({ name, value }) => `${name}=${value}`),
  ]
}
