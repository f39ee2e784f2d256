import type { Engine } from '../engine/connect-engine.ts'
import { runOnce } from '../engine/run-once.ts'
import { reasonOf } from '../sandbox-error.ts'
import type { DataBound } from '../sandbox-runtime.ts'
import { sandboxSizes } from '../default-agent-sizes.ts'
import { homeTag, sandboxHardening } from '../sandbox-spec.ts'
import type { LimitedVolumes } from '../volume/limited-volumes.ts'
import { hasLoopDevices } from '../volume/volume-facts.ts'
import { volumePrograms, volumeSupport } from '../volume/volume-support.ts'
import type { VolumePrograms } from '../volume/volume-image.ts'
import { openAgentVolume } from './agent-volume.ts'
import { hardenedHost, labelKeys, volumeName, type ContainerGround } from '../hardening/container-options.ts'
import { warmCommand } from './warm-page-cache.ts'

/** Id of the trial's volume; no agent can have this id. */
const trialId = '.trial'
/** The size of the volume with which the mesh tries whether it can create volumes, in bytes. */
const trialBytes = 16 * 1024 * 1024
/** The time limit of the container that tries a new volume, in milliseconds. */
const trialTimeoutMs = 60_000
/** The throw-away container of the trial gets a whole processor, because the owner waits for the result. */
const trialCpu = { quotaUs: 100_000, periodUs: 100_000 }
const trial = 'grep -q " /data ext4 rw,nosuid,nodev" /proc/mounts && echo x > /data/trial'

/** Predicts from the machine and the engine whether volumes can be limited in size; creates nothing. */
export async function volumesPromised(
  engine: Engine,
  uid: number,
  programs: VolumePrograms,
): Promise<DataBound> {
  return volumeSupport({
    uid,
    flavour: engine.facts.flavour,
    securityOptions: engine.facts.securityOptions,
    missingPrograms: volumePrograms.filter((name) => !programs.has(name)),
    hasLoopDevices: await hasLoopDevices(),
  })
}

/**
 * If volumes of a fixed size seem possible, a throw-away container mounts one and writes to it, and warms the page
 * cache for agent starts. After a failure the data of agents is metered instead; the failure is no error.
 */
export async function tryVolumes(
  engine: Engine,
  options: {
    readonly uid: number
    readonly programs: VolumePrograms
    readonly volumes: LimitedVolumes
    readonly ground: ContainerGround
    readonly signal?: AbortSignal | undefined
  },
): Promise<DataBound> {
  const { volumes, ground } = options
  const promised = await volumesPromised(engine, options.uid, options.programs)
  if (promised.kind === 'meter') return promised
  const { homeId } = ground
  const name = volumeName(homeId, trialId)
  try {
    const spec = { agentId: trialId, dataLimitBytes: trialBytes }
    const volume = await openAgentVolume(engine, volumes, { homeId, spec, bound: promised })
    const done = await runOnce(engine, {
      image: ground.image,
      command: ['sh', '-c', `{ ${trial}; } || exit 1; { ${warmCommand}; } 2> /dev/null; exit 0`],
      labels: { [labelKeys.home]: homeTag(homeId), [labelKeys.role]: 'trial' },
      host: {
        ...hardenedHost(ground, { ...sandboxSizes.worker, ...sandboxHardening, cpu: trialCpu }),
        NetworkMode: 'none',
        Mounts: [{ Type: 'volume', Source: name, Target: '/data' }],
      },
      user: `${sandboxHardening.uid}:${sandboxHardening.uid}`,
      timeoutMs: trialTimeoutMs,
      signal: options.signal,
    }).finally(() => volume.release())
    if (done.code === 0) return promised
    return {
      kind: 'meter',
      why: `a test volume could not be written to: ${done.output.slice(-300)}`,
    }
  } catch (error) {
    options.signal?.throwIfAborted()
    return { kind: 'meter', why: `a test volume could not be mounted: ${reasonOf(error)}` }
  } finally {
    await engine.docker
      .getVolume(name)
      .remove()
      .catch(() => undefined)
    await volumes.remove(trialId)
  }
}
