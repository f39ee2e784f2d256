import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import type { PackageSources } from '../packages/derivation.ts'

/** How an engine is used for the agents of one home. */
export interface DockerRuntimeOptions {
  readonly homeId: string
  /** User id of the mesh; 0 if it may set firewall rules and install an engine itself. */
  readonly uid: number
  /** Values of `FLOTILLA_ENGINE_SOCKET` and `DOCKER_HOST`. */
  readonly engineSocket?: string | undefined
  readonly dockerHost?: string | undefined
  /** True with `FLOTILLA_NO_INSTALL=1`. */
  readonly noInstall: boolean
  /** Folder for the log and process id of an engine that the mesh starts. Shared by all homes of this machine. */
  readonly stateDirectory: string
  /** Folder for bundles and parts of images. Shared by all homes of this machine. */
  readonly cacheDirectory: string
  /** The folder `images/agent` with the recipe of the agents' image. */
  readonly recipeDirectory: string
  /** The folder `images/machine` with the recipe of the machines' image. */
  readonly machineRecipeDirectory: string
  /** Folder from which the pinned Node is resolved: the repository's root. */
  readonly packageDirectory: string
  /** The agent's entry file; bundled when its sources changed. */
  readonly agentEntry: string
  readonly baseImage?: string | undefined
  readonly packages: PackageSources
  readonly proxyVariables?: Readonly<Record<string, string>> | undefined
  /** Folder of volumes with a fixed size. Belongs to one home. */
  readonly volumesFolder: string
  /** PATH of the mesh, to find the programs that create volumes. */
  readonly path: string
  readonly browser: {
    /** The folder `images/browser` with the recipe of the browsers' image. */
    readonly recipeDirectory: string
    /** The entry file of the browser service. */
    readonly browserEntry: string
    /** Port of the browser proxy, the only destination of browsers on the host. */
    readonly proxyPort: number
  }
  /** Ports of the agent API and the forward proxy: all that agents may reach on the host. */
  readonly meshPorts: readonly number[]
  readonly clock: Clock
  readonly log: Log
}
