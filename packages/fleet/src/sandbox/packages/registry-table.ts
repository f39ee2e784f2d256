/** The port on which `forward.cjs` listens in a container in which packages are downloaded. */
export const registryPort = 3128
/** The maximum number of registry hosts of one build; each has a loopback address of its own in the container. */
const originsMax = 200

export type RegistryKind = 'apt' | 'npm' | 'pip'

/** Where package managers in a container find a registry, and which requests the mesh passes on to it. */
export interface RegistryOrigin {
  /** The address in the container as `host:port`. */
  readonly local: string
  /** The address in the world, such as `https://registry.npmjs.org`. */
  readonly origin: string
  /** The folders of the registry below which everything may be read. Each path ends with `/`. */
  readonly bases: readonly { readonly kind: RegistryKind; readonly path: string }[]
}

/**
 * A credential of npm on this machine for all addresses that begin with `prefix`, such as `//npm.corp.test/private/`. It
 * is added to requests of npm registries, and to plain http only if npm has no https registry on this host.
 */
export interface RegistryCredential {
  readonly prefix: string
  /** Value of the header `authorization`. Secret. */
  readonly authorization: string
}

/**
 * The registries of one build. Inside the container each has a loopback address without credentials; the mesh adds
 * these outside the container.
 */
export interface RegistryTable {
  /** Adds a registry and returns its address in the container; null for an address that is not http or https. */
  add(kind: RegistryKind, address: string): string | null
  addCredential(credential: RegistryCredential): void
  /** Returns the registry that a request of the container names in its header `host`. */
  byLocal(host: string): RegistryOrigin | null
  /** Returns the address with the registry's loopback address; null if no registry has this origin. */
  toLocal(address: string): string | null
  /** Returns the address with the registry's own origin, without user name and password; null for another address. */
  toOrigin(address: string): string | null
  /** Returns the value of the header `authorization` for an address; null if it does not exist. */
  authorizationFor(url: URL): string | null
  /** Replaces the origins of all registries in a text, such as a page of an index, by their loopback addresses. */
  localize(text: string): string
  /** Returns the addresses of all registries, without user names and passwords. */
  addresses(): readonly { readonly kind: RegistryKind; readonly address: string }[]
}

export function createRegistryTable(): RegistryTable {
  const origins = new Map<
    string,
    RegistryOrigin & { readonly bases: { kind: RegistryKind; path: string }[] }
  >()
  const credentials: (RegistryCredential & { readonly fits: (url: URL) => boolean })[] = []
  const isRequestOf = (kind: RegistryKind, url: URL): boolean =>
    kindsOf(origins.get(url.origin)?.bases ?? [], url.pathname).includes(kind)

  function add(kind: RegistryKind, address: string): string | null {
    const url = webUrl(address)
    if (url === null) return null
    const path = url.pathname.endsWith('/') ? url.pathname : `${url.pathname}/`
    const known = origins.get(url.origin)
    if (known === undefined && origins.size >= originsMax) return null
    // Each origin has its own address, so that paths stay as they are: package managers derive addresses from others.
    const one = known ?? {
      local: `127.77.0.${origins.size + 1}:${registryPort}`,
      origin: url.origin,
      bases: [],
    }
    if (!one.bases.some((base) => base.kind === kind && base.path === path)) one.bases.push({ kind, path })
    origins.set(url.origin, one)
    if (url.username !== '') {
      const authorization = basicOf(decoded(url.username), decoded(url.password))
      const fits = ({ origin }: URL): boolean => origin === url.origin
      credentials.push({ prefix: `//${url.host}${path}`, authorization, fits })
      // The files of an index may be beside it; pip uses the credential of the index for the whole host.
      const ofPip = (asked: URL): boolean => fits(asked) && isRequestOf('pip', asked)
      if (kind === 'pip') credentials.push({ prefix: `//${url.host}/`, authorization, fits: ofPip })
    }
    return `http://${one.local}${url.pathname}${url.search}`
  }

  function moved(address: string, from: 'local' | 'origin'): string | null {
    const url = webUrl(address)
    if (url === null) return null
    for (const { local, origin } of origins.values()) {
      if (url.origin !== (from === 'local' ? `http://${local}` : origin)) continue
      return `${from === 'local' ? origin : `http://${local}`}${url.pathname}${url.search}`
    }
    return null
  }

  return {
    add,
    addresses: () =>
      [...origins.values()].flatMap(({ origin, bases }) =>
        bases.map(({ kind, path }) => ({ kind, address: `${origin}${path}` })),
      ),
    addCredential: (credential) => {
      const isPlainOnly = ({ host }: URL): boolean =>
        origins.get(`https://${host}`)?.bases.some(({ kind }) => kind === 'npm') !== true
      const fits = (url: URL): boolean =>
        isRequestOf('npm', url) && (url.protocol === 'https:' || isPlainOnly(url))
      credentials.push({ ...credential, fits })
    },
    byLocal: (host) => [...origins.values()].find(({ local }) => local === host) ?? null,
    toLocal: (address) => moved(address, 'origin'),
    toOrigin: (address) => moved(address, 'local') ?? withoutUser(address),
    authorizationFor: (url) => {
      const address = `//${url.host}${url.pathname}`
      const fitting = credentials.filter(({ prefix, fits }) => address.startsWith(prefix) && fits(url))
      const [longest] = fitting.toSorted((one, other) => other.prefix.length - one.prefix.length)
      return longest?.authorization ?? null
    },
    localize: (text) => {
      let changed = text
      for (const { local, origin } of origins.values())
        changed = changed.replaceAll(`${origin}/`, `http://${local}/`)
      return changed
    },
  }
}

/** Returns whether the mesh may read this path of a registry for a package manager. Pure. */
export function mayRead({ bases }: Pick<RegistryOrigin, 'bases'>, pathname: string): boolean {
  if (hasParentFolder(pathname)) return false
  return bases.some(({ kind, path }) => `${pathname}/`.startsWith(path) || isFileOf(kind, pathname))
}

/** Returns for which package managers a path may be read: those with such files, else those of the nearest folder. */
function kindsOf(bases: RegistryOrigin['bases'], pathname: string): readonly RegistryKind[] {
  const byFile = bases.filter(({ kind }) => isFileOf(kind, pathname))
  if (byFile.length > 0) return byFile.map(({ kind }) => kind)
  const above = bases.filter(({ path }) => `${pathname}/`.startsWith(path))
  const nearest = Math.max(...above.map(({ path }) => path.length))
  return above.flatMap(({ kind, path }) => (path.length === nearest ? [kind] : []))
}

/** Registries also have their files beside their index, on the same host. */
function isFileOf(kind: RegistryKind, pathname: string): boolean {
  if (kind === 'npm') return pathname.endsWith('.tgz')
  return kind === 'pip' && /\.whl(?:\.metadata)?$/.test(pathname)
}

/** Some servers decode `%2f`, so that a path could leave the folder of the registry. */
function hasParentFolder(pathname: string): boolean {
  try {
    return decodeURIComponent(pathname).split(/[/\\]/).includes('..')
  } catch {
    return true
  }
}

/** Returns the value of the header `authorization` for a user name and a password. Pure. */
export function basicOf(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}

function webUrl(address: string): URL | null {
  const text = address.trim()
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : null
}

function withoutUser(address: string): string | null {
  const url = webUrl(address)
  return url === null ? null : `${url.origin}${url.pathname}${url.search}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
