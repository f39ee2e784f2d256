import { guardedNode, hardenedHost, labelKeys, type ContainerGround } from '../docker/container-options.ts'
import type { Engine } from '../engine/connect-engine.ts'
import { runOnce } from '../run-once.ts'
import { reasonOf, SandboxError } from '../sandbox-error.ts'
import type { RungTrial } from '../sandbox-runtime.ts'
import { homeTag, sandboxHardening, sandboxSizes } from '../sandbox-spec.ts'
import { gvisorRuntimes, type GvisorRuntime } from './gvisor-runtimes.ts'
import { registerGvisor, type RegisterOptions } from './register-gvisor.ts'

/** A platform that the machine cannot carry hangs. */
const trialMs = 20_000
const saidMaxChars = 200
const triedRepair =
  'This machine or this release of runsc cannot do it: try a newer one, or another --platform and --network in the settings of the engine.'

/** gVisor in one engine, found out by running something behind it. */
export interface Gvisor {
  /** Callers at the same time share one trial. */
  tryIt(engine: Engine, ground: ContainerGround): Promise<RungTrial>
  /** The engine's name for what was found last, until `forget`. Rejects with `SandboxError` `gvisor-absent`. */
  runtimeName(engine: Engine, ground: ContainerGround): Promise<string>
  /** The engine was away: it may know other runtimes now. */
  forget(): void
}

export function createGvisor(options: RegisterOptions): Gvisor {
  let found: GvisorRuntime | null = null
  let underWay: Promise<RungTrial> | null = null
  const known = (): GvisorRuntime | null => found

  async function look(engine: Engine, ground: ContainerGround): Promise<RungTrial> {
    found = null
    let failed = ''
    if ((await gvisorRuntimes(engine)).length === 0) {
      const refused = await registerGvisor(engine, options)
      if (refused !== null) return { available: false, detail: refused.why, repair: refused.repair }
    }
    for (const runtime of await gvisorRuntimes(engine)) {
      const said = await runOn(engine, ground, runtime)
      if (said === null) {
        found = runtime
        return { available: true, detail: runtime.detail, repair: '' }
      }
      failed = `${runtime.detail}: ${said}`
    }
    return { available: false, detail: failed, repair: triedRepair }
  }

  async function tryIt(engine: Engine, ground: ContainerGround): Promise<RungTrial> {
    underWay ??= look(engine, ground)
      .catch((error: unknown) => ({ available: false, detail: reasonOf(error), repair: '' }))
      .finally(() => {
        underWay = null
      })
    return underWay
  }

  return {
    tryIt,
    async runtimeName(engine, ground) {
      const trial = known() === null ? await tryIt(engine, ground) : null
      const name = known()?.name
      if (name !== undefined) return name
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

/** Null where a container runs behind it; else what came in between. */
async function runOn(
  engine: Engine,
  ground: ContainerGround,
  runtime: GvisorRuntime,
): Promise<string | null> {
  try {
    const done = await runOnce(engine, {
      image: ground.image,
      command: [...guardedNode, '-e', tryProgram],
      labels: { [labelKeys.home]: homeTag(ground.homeId), [labelKeys.role]: 'trial' },
      host: hardenedHost(ground, trialSize, runtime.name),
      user: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
      timeoutMs: trialMs,
    })
    if (done.code === 0) return null
    return `it ended with ${done.code}: ${done.output.trim().slice(-saidMaxChars)}`
  } catch (error) {
    return reasonOf(error).split('\nRepair:')[0]?.slice(0, saidMaxChars) ?? ''
  }
}

const trialSize = {
  memoryLimitBytes: sandboxSizes.worker.memoryLimitBytes,
  cpu: { quotaUs: 100_000, periodUs: 100_000 },
  pidsLimit: sandboxHardening.pidsLimit,
  tmpSizeBytes: sandboxHardening.tmpSizeBytes,
}
