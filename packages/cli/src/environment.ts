import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Colors } from './terminal/color.ts'

/** What the command line reads from the environment. The only file of this package that reads it. */
export interface Environment {
  readonly home: string
  /** True if the home was named explicitly. */
  readonly homeNamed: boolean
  readonly port: number | undefined
  /** Address of a mesh on another machine, or behind a reverse proxy. */
  readonly url: string | undefined
  /** Value of the session cookie, for a hosted mesh. */
  readonly sessionCookie: string | undefined
  /** The personal token of a user who is not the owner of the machine. */
  readonly personToken: string | undefined
  readonly colors: Colors
  /** True if a graphical display is available that can show a browser. */
  readonly hasDisplay: boolean
  /** The folders in which the shell looks for programs. */
  readonly programFolders: readonly string[]
  /** The text editor: `VISUAL`, `EDITOR`, or one that every machine has. */
  readonly editor: string
  /** `XDG_CACHE_HOME`. */
  readonly cacheHome: string | undefined
  /** The command by which this program was called, for hints that a person can type. */
  readonly command: string
  /** True if nothing but the mesh may be installed or started on this machine. */
  readonly noInstall: boolean
  /** True if agents must run in containers and every other way must fail. */
  readonly requireEngine: boolean
  /** True in the pod of a mesh: the cluster starts and stops the mesh, not these commands. */
  readonly isPod: boolean
  /** The names of the proxy variables that are set here, including exceptions (`NO_PROXY`). */
  readonly proxyVariables: readonly string[]
  readonly model: {
    readonly apiKey: string | undefined
    readonly baseUrl: string | undefined
    readonly name: string | undefined
  }
  /** Returns the environment for the mesh that this command starts: its own, with these changes. */
  childEnvironment(changes: Readonly<Record<string, string | undefined>>): Record<string, string>
}

/** `bin/flotilla` sets this variable to the name that it was called by, if the PATH does not contain it. */
const calledAs = 'FLOTILLA_CALLED_AS'

/** How a person calls this program: a script of this repository, `npx`, its path, or a name on the PATH. */
function commandOf(value: (name: string) => string | undefined): string {
  const script = value('npm_lifecycle_event')
  if (script === 'npx') return 'npx flotilla'
  if (script === 'flotilla' || script === 'demo') return 'npm run flotilla --'
  return value(calledAs) ?? 'flotilla'
}

/** Decides on colors as Node does: `FORCE_COLOR` overrides `NO_COLOR`, and `FORCE_COLOR=0` disables colors. */
function colorsOf(value: (name: string) => string | undefined): Colors {
  const forced = value('FORCE_COLOR')
  if (forced !== undefined) return forced === '0' || forced === 'false' ? 'off' : 'on'
  return value('NO_COLOR') !== undefined || value('TERM') === 'dumb' ? 'off' : 'auto'
}

/** Variables that only the command line knows; the mesh would warn of them. */
const ownNames: readonly string[] = ['FLOTILLA_URL', 'FLOTILLA_SESSION', 'FLOTILLA_TOKEN', calledAs]

const proxyNames: readonly string[] = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap(
  (name) => [name, name.toLowerCase()],
)

export function readEnvironment(variables: NodeJS.ProcessEnv = process.env): Environment {
  const value = (name: string) => (variables[name] === '' ? undefined : variables[name])
  const port = Number(value('FLOTILLA_PORT'))
  return {
    home: resolve(value('FLOTILLA_HOME') ?? join(homedir(), '.flotilla')),
    homeNamed: value('FLOTILLA_HOME') !== undefined,
    port: Number.isInteger(port) && port > 0 ? port : undefined,
    url: value('FLOTILLA_URL'),
    sessionCookie: value('FLOTILLA_SESSION'),
    personToken: value('FLOTILLA_TOKEN'),
    colors: colorsOf(value),
    hasDisplay: value('DISPLAY') !== undefined || value('WAYLAND_DISPLAY') !== undefined,
    programFolders: (value('PATH') ?? '').split(':').filter((folder) => folder !== ''),
    editor: value('VISUAL') ?? value('EDITOR') ?? 'vi',
    cacheHome: value('XDG_CACHE_HOME'),
    command: commandOf(value),
    noInstall: value('FLOTILLA_NO_INSTALL') === '1',
    requireEngine: value('FLOTILLA_REQUIRE_ENGINE') === '1',
    isPod: value('FLOTILLA_KUBERNETES_SERVICE') !== undefined,
    proxyVariables: proxyNames.filter((name) => value(name) !== undefined),
    model: {
      apiKey: value('FLOTILLA_SYSTEM_OPENAI_API_KEY'),
      baseUrl: value('FLOTILLA_SYSTEM_OPENAI_BASE_URL'),
      name: value('FLOTILLA_DEFAULT_MODEL'),
    },
    childEnvironment: (changes) => {
      const child: Record<string, string> = {}
      for (const [name, text] of Object.entries({ ...variables, ...changes })) {
        if (text !== undefined && !ownNames.includes(name)) child[name] = text
      }
      return child
    },
  }
}
