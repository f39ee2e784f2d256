import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type Dockerode from 'dockerode'
import type { Engine } from './connect-engine.ts'
import { sandboxHardening } from '../sandbox-spec.ts'

/** The differences between Docker and Podman's compatible socket; no other code distinguishes them. */
export interface EngineDialect {
  /** Value of the `seccomp=` option: Docker takes the profile's content, Podman its path on this machine. */
  readonly seccomp: string
  readonly ulimits: Ulimits
  /** Kernel settings against IPv6 in containers: Docker disables it itself, Podman leaves link-local addresses. */
  readonly sysctls: Readonly<Record<string, string>>
  readonly logOptions: Dockerode.HostConfig['LogConfig']
  /** True for Podman: it creates a volume at its first mount, without labels, so the mesh creates it before. */
  readonly createsVolumesFirst: boolean
  /** Whether the mesh must keep a bridge up: Podman removes a bridge together with the last container on it. */
  readonly holdsBridge: boolean
  /** Whether the processor share of a running container can be changed; only recent releases of Podman support it. */
  readonly changesShares: boolean
  /** Names of the events by which the engine reports the end of a container's process. */
  readonly endActions: readonly string[]
}

export type Ulimits = NonNullable<Dockerode.HostConfig['Ulimits']>

const { openFilesMax } = sandboxHardening
/** Podman's service lowers its own limit of processes to this value, so no container can get a higher limit. */
const podmanProcessesMax = 32_768

export async function engineDialect(engine: Engine, recipeDirectory: string): Promise<EngineDialect> {
  const profile = join(
    recipeDirectory,
    engine.architecture === 'x64' ? 'seccomp-x64.json' : 'seccomp-any.json',
  )
  if (engine.facts.flavour === 'podman') {
    return {
      seccomp: profile,
      ulimits: await ulimitsOf(engine),
      sysctls: (await hasIpv6())
        ? { 'net.ipv6.conf.all.disable_ipv6': '1', 'net.ipv6.conf.default.disable_ipv6': '1' }
        : {},
      logOptions: { Type: 'k8s-file', Config: { 'max-size': '5m' } },
      createsVolumesFirst: true,
      holdsBridge: true,
      changesShares: false,
      endActions: ['die', 'died'],
    }
  }
  return {
    seccomp: JSON.stringify(JSON.parse(await readFile(profile, 'utf8'))),
    ulimits: await ulimitsOf(engine),
    sysctls: {},
    logOptions: { Type: 'json-file', Config: { 'max-size': '5m', 'max-file': '2' } },
    createsVolumesFirst: false,
    holdsBridge: false,
    changesShares: true,
    endActions: ['die'],
  }
}

/**
 * Returns the limits of an engine's containers. Podman by default requests a million processes and fails if the host
 * allows fewer. This limit counts all agents together, which share a user id, so it is set to the highest allowed
 * value; the cgroup limits each agent.
 */
export async function ulimitsOf(engine: Engine): Promise<Ulimits> {
  const ulimits = [
    { Name: 'nofile', Soft: openFilesMax, Hard: openFilesMax },
    { Name: 'core', Soft: 0, Hard: 0 },
  ]
  if (engine.facts.flavour !== 'podman') return ulimits
  const table = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const ours = /^Max processes\s+\S+\s+(\d+)/m.exec(table)?.[1]
  const processes = Math.min(podmanProcessesMax, ours === undefined ? Infinity : Number(ours))
  return [...ulimits, { Name: 'nproc', Soft: processes, Hard: processes }]
}

/**
 * Podman refuses a container whose tmpfs has the option `nr_inodes`. There the memory limit of the container bounds the
 * files, as each takes a kilobyte of it.
 */
export function limitsTmpfsFiles({ facts }: Pick<Engine, 'facts'>): boolean {
  return facts.flavour !== 'podman'
}

async function hasIpv6(): Promise<boolean> {
  return access('/proc/net/if_inet6').then(
    () => true,
    () => false,
  )
}
