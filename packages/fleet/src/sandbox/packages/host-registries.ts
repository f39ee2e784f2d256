import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { runCommand } from '../run-command.ts'
import { readAptSources, usableAptSources } from '../image/apt-sources.ts'
import type { AptSourceFile } from '../image/apt-sources.ts'

/** The folder of key files in a container. */
const keysFolder = '/fetch/config/keys'
const publicNpm = 'https://registry.npmjs.org/'
const publicPip = 'https://pypi.org/simple'
/** The public index lists files on this host. */
const publicPipFiles = 'files.pythonhosted.org:443'
/** The time limit for the question which registry this machine's npm uses, in milliseconds. */
const npmTimeoutMs = 20_000

/** The registries that package managers of this machine use. */
export interface HostRegistries {
  /** The package sources of this machine for the image's release; empty to use the image's own sources. */
  readonly apt: readonly AptSourceFile[]
  /** Key files that the sources name, by the path to which `apt` was changed. */
  readonly keys: readonly { readonly path: string; readonly content: Buffer }[]
  /** npm's settings: registries and the credentials for them. Secret. */
  readonly npmrc: string
  /** pip's settings: indexes. They may contain a password. Secret. */
  readonly pipConfig: string
  /** Destinations as `host:port`, without those of the image's own apt sources. */
  readonly hosts: ReadonlySet<string>
}

export interface HostPlaces {
  /** The home folder of the user that runs the mesh. */
  readonly userFolder: string
  /** The variables of the mesh's process. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

/** Reads the configuration of apt, npm and pip on this machine, for an image of the release `codename`. */
export async function readHostRegistries(codename: string, places: HostPlaces): Promise<HostRegistries> {
  const [sources, npm, pip] = await Promise.all([readAptSources(), readNpm(places), readPip(places)])
  const { apt, keys } = await withKeys(usableAptSources(sources, codename))
  const hosts = new Set([...aptHosts(apt), ...npm.hosts, ...pip.hosts])
  return { apt, keys, npmrc: npm.text, pipConfig: pip.text, hosts }
}

/** Reads the key files that sources name, and changes their paths to those in a container. */
async function withKeys(sources: readonly AptSourceFile[]) {
  const keys: { path: string; content: Buffer }[] = []
  const apt: AptSourceFile[] = []
  for (const { path, text } of sources) {
    let changed = text
    for (const [, key = ''] of text.matchAll(/signed-by\s*[:=]\s*(\/[^\s\],]+)/gi)) {
      const content = await readFile(key).catch(() => null)
      if (content === null) continue
      const inside = `${keysFolder}/${keys.length}-${basename(key)}`
      keys.push({ path: inside, content })
      changed = changed.replace(key, inside)
    }
    apt.push({ path, text: changed })
  }
  return { apt, keys }
}

/** Returns the destinations that apt sources name. Pure. */
export function aptHosts(sources: readonly AptSourceFile[]): readonly string[] {
  return sources.flatMap(({ text }) => (text.match(/https?:\/\/[^\s\]]+/g) ?? []).flatMap(destinationOf))
}

async function readNpm({ userFolder, variables }: HostPlaces) {
  const asked = await runCommand('npm', ['config', 'get', 'registry'], { timeoutMs: npmTimeoutMs })
  const registry = asked.code === 0 && URL.canParse(asked.stdout.trim()) ? asked.stdout.trim() : publicNpm
  const own = await readFile(join(userFolder, '.npmrc'), 'utf8').catch(() => '')
  const lines = npmLines(own, variables)
  const scoped = lines.flatMap((line) =>
    line.startsWith('@') ? destinationOf(line.split('=')[1] ?? '') : [],
  )
  return {
    text: [`registry=${registry}`, ...lines, ''].join('\n'),
    hosts: [...destinationOf(registry), ...scoped],
  }
}

/** Returns the lines about registries of scopes and credentials, with variables filled in as npm does it. Pure. */
export function npmLines(
  text: string,
  variables: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) =>
      /^(?:@[^:=\s]+:registry|\/\/[^=\s]+:(?:_authToken|_auth|username|_password))\s*=/.test(line),
    )
    .map((line) => line.replace(/\$\{([^}]+)\}/g, (whole, name: string) => variables[name] ?? whole))
    .map((line) => line.replace(/\s*=\s*/, '='))
}

async function readPip({ userFolder, variables }: HostPlaces) {
  const files = await Promise.all(
    [
      '/etc/pip.conf',
      join(userFolder, '.pip', 'pip.conf'),
      join(userFolder, '.config', 'pip', 'pip.conf'),
    ].map((path) => readFile(path, 'utf8').catch(() => '')),
  )
  const setting = (name: string, variable: string): string => {
    const written = files.flatMap(
      (text) => new RegExp(`^${name}\\s*[=:]\\s*(\\S.*)$`, 'm').exec(text)?.[1] ?? [],
    )
    return (variables[variable] ?? written.at(-1) ?? '').trim()
  }
  const index = setting('index-url', 'PIP_INDEX_URL') || publicPip
  const extra = setting('extra-index-url', 'PIP_EXTRA_INDEX_URL').split(/\s+/).filter(Boolean)
  const lines = [
    '[global]',
    `index-url = ${index}`,
    ...(extra.length === 0 ? [] : [`extra-index-url = ${extra.join('\n  ')}`]),
  ]
  const hosts = [index, ...extra].flatMap(destinationOf)
  // configparser reads a percent sign as the start of a reference.
  const text = `${lines.join('\n').replaceAll('%', '%%')}\n`
  return { text, hosts: hosts.includes('pypi.org:443') ? [...hosts, publicPipFiles] : hosts }
}

function destinationOf(address: string): readonly string[] {
  if (!URL.canParse(address.trim())) return []
  const { protocol, hostname, port } = new URL(address.trim())
  if (protocol !== 'http:' && protocol !== 'https:') return []
  return [`${hostname}:${port || (protocol === 'https:' ? '443' : '80')}`]
}
