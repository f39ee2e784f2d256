import {
  guardedNode,
  hardenedHost,
  labelKeys,
  type ContainerGround,
  type GvisorGround,
} from '../hardening/container-options.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { runOnce } from '../engine/run-once.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { RungTrial } from '../sandbox-runtime.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { homeTag, sandboxHardening } from '../sandbox-spec.ts'
import { findPinnedNode, strippedNode } from '../image/node-parts.ts'
import { gvisorFilter } from './gvisor-filter.ts'
import { gvisorRuntimes } from './gvisor-runtimes.ts'
import { registerGvisor, type RegisterOptions } from './register-gvisor.ts'

/** Time limit of a trial, milliseconds: on a platform that the machine does not support, gVisor hangs. */
const trialMs = 20_000
/** How much of the output of a failed trial of gVisor is quoted, in characters. */
const outputMaxChars = 200
const onPodman = {
  detail: 'gVisor is supported only with Docker, and this engine is Podman',
  repair: 'Install docker.io, or set FLOTILLA_ENGINE_SOCKET=/var/run/docker.sock if Docker is installed.',
}
const triedRepair =
  'gVisor does not work on this machine or with this release of runsc. Try a newer runsc, or another --platform and --network in the daemon.json of the engine.'

/** Tests gVisor in one engine by running a container with it. */
export interface Gvisor {
  /** Concurrent callers share one trial. */
  tryIt(engine: Engine, ground: ContainerGround): Promise<RungTrial>
  /** Returns the last result, until `forget`; without one, tests. Rejects with `SandboxError` `gvisor-absent`. */
  ground(engine: Engine, ground: ContainerGround): Promise<GvisorGround>
  /** Forgets the result: an engine that was unreachable may have other runtimes now. */
  forget(): void
}

export interface GvisorOptions extends RegisterOptions {
  /** Folder from which the pinned Node is resolved. */
  readonly packageDirectory: string
  readonly cacheDirectory: string
}

export function createGvisor(options: GvisorOptions): Gvisor {
  let found: GvisorGround | null = null
  let underWay: Promise<RungTrial> | null = null
  const known = (): GvisorGround | null => found

  async function tryAnew(engine: Engine, ground: ContainerGround): Promise<RungTrial> {
    found = null
    let failed = ''
    if (engine.facts.flavour === 'podman') return { available: false, ...onPodman }
    if ((await gvisorRuntimes(engine)).length === 0) {
      const refused = await registerGvisor(engine, options)
      if (refused !== null) return { available: false, detail: refused.why, repair: refused.repair }
    }
    const nodePath = await strippedNode(
      findPinnedNode(options.packageDirectory, engine.architecture),
      options,
    )
    for (const runtime of await gvisorRuntimes(engine)) {
      const gvisor = { runtime: runtime.name, nodePath, seccomp: gvisorFilter(ground.seccomp) }
      const failure = await runOn(engine, ground, gvisor)
      if (failure === null) {
        found = gvisor
        return { available: true, detail: runtime.detail, repair: '' }
      }
      failed = `${runtime.detail}: ${failure}`
    }
    return { available: false, detail: failed, repair: triedRepair }
  }

  async function tryIt(engine: Engine, ground: ContainerGround): Promise<RungTrial> {
    underWay ??= tryAnew(engine, ground)
      .catch((error: unknown) => ({ available: false, detail: reasonOf(error), repair: '' }))
      .finally(() => {
        underWay = null
      })
    return underWay
  }

  return {
    tryIt,
    async ground(engine, ground) {
      const trial = known() === null ? await tryIt(engine, ground) : null
      const gvisor = known()
      if (gvisor !== null) return gvisor
      throw new SandboxError(
        'gvisor-absent',
        `Agents cannot be run behind gVisor: ${trial?.detail}\nRepair: ${trial?.repair}`,
      )
    },
    forget: () => {
      found = null
    },
  }
}

const tryProgram =
  "if (!require('node:fs').readFileSync('/proc/version','utf8').includes('gVisor')) console.log('kernel ' + require('node:os').release())"

/** Runs a container behind gVisor. Returns null on success, else the reason of the failure. */
async function runOn(engine: Engine, ground: ContainerGround, gvisor: GvisorGround): Promise<string | null> {
  try {
    const done = await runOnce(engine, {
      image: ground.image,
      command: [...guardedNode, '-e', tryProgram],
      labels: { [labelKeys.home]: homeTag(ground.homeId), [labelKeys.role]: 'trial' },
      host: hardenedHost(ground, trialSize, gvisor),
      user: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
      timeoutMs: trialMs,
    })
    if (done.code === 0) return null
    return `the test container ended with exit code ${done.code}: ${done.output.trim().slice(-outputMaxChars)}`
  } catch (error) {
    return reasonOf(error).split('\nRepair:')[0]?.slice(0, outputMaxChars) ?? ''
  }
}

const trialSize = {
  memoryLimitBytes: sandboxSizes.worker.memoryLimitBytes,
  cpu: { quotaUs: 100_000, periodUs: 100_000 },
  pidsLimit: sandboxHardening.pidsLimit,
  tmpSizeBytes: sandboxHardening.tmpSizeBytes,
}
