import type { OutboundProxies } from '@flotilla/foundation/platform'
import type { JoinedPackages } from '@flotilla/protocol/agent-packages'
import type { Clock } from '@flotilla/protocol/clock'
import type { Engine } from '../engine/connect-engine.ts'
import type { EnsurePackages } from '../package-images.ts'
import type { HostPlaces } from './host-places.ts'

/** How packages are installed, and from where. */
export interface PackageSources {
  /** The folder `images/packages` with the programs that install packages. */
  readonly recipeDirectory: string
  /** Where the configuration of this machine's package managers is. */
  readonly hostPlaces: HostPlaces
  /** The proxies that this machine itself uses. */
  readonly proxies: OutboundProxies
}

/** The home for which an image is derived. */
export interface DeriveOptions {
  readonly homeId: string
  readonly packages: PackageSources
  readonly cacheDirectory: string
  /** Folder of volumes of the home; its parent is the home's data folder. */
  readonly volumesFolder: string
  readonly clock: Clock
}

/** Where an image is derived: an engine and the agent image in it. */
export interface DeriveBase {
  readonly engine: Engine
  readonly image: string
}

/** The packages of one image. */
export interface Derivation extends EnsurePackages {
  readonly packages: JoinedPackages
  readonly signal: AbortSignal
}
