import * as z from 'zod'
import type { Engine } from '../engine/connect-engine.ts'
import { runOnce } from '../engine/run-once.ts'
import { SandboxError } from '../sandbox-error.ts'
import type { DataUse } from '../sandbox-runtime.ts'
import { countMaxSeconds, countScript, foldersPerCountMax, readCounts } from '../measure-use.ts'
import { labelKeys, volumeName } from '../hardening/container-options.ts'

const volumesSchema = z.looseObject({
  Volumes: z
    .array(z.looseObject({ Name: z.string(), Options: z.record(z.string(), z.string()).nullish() }))
    .nullish(),
})

/**
 * Counts the content of volumes without a fixed size, in one throw-away container that may only read. An agent cannot
 * see that container or falsify the count, even with files that deny the agent itself access.
 */
export async function measureVolumes(
  engine: Engine,
  home: { readonly homeId: string; readonly homeTag: string; readonly image: string },
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, DataUse>> {
  const label = [`${labelKeys.home}=${home.homeTag}`]
  const { Volumes } = volumesSchema.parse(await engine.docker.listVolumes({ filters: { label } }))
  const plain = new Set((Volumes ?? []).filter((one) => !one.Options?.['device']).map(({ Name }) => Name))
  const metered = agentIds.filter((agentId) => plain.has(volumeName(home.homeId, agentId)))
  const uses = new Map<string, DataUse>()
  for (let from = 0; from < metered.length; from += foldersPerCountMax) {
    const part = metered.slice(from, from + foldersPerCountMax)
    const counted = await count(engine, home, part)
    part.forEach((agentId, index) => {
      const use = counted[index]
      if (use) uses.set(agentId, use)
    })
  }
  return uses
}

async function count(
  engine: Engine,
  home: { readonly homeId: string; readonly homeTag: string; readonly image: string },
  agentIds: readonly string[],
): Promise<readonly DataUse[]> {
  const folders = agentIds.map((_, index) => `/mnt/${index}`)
  const done = await runOnce(engine, {
    image: home.image,
    command: ['sh', '-c', countScript(folders)],
    labels: { [labelKeys.home]: home.homeTag, [labelKeys.role]: 'meter' },
    host: {
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      CapAdd: ['DAC_READ_SEARCH'],
      SecurityOpt: ['no-new-privileges'],
      ReadonlyRootfs: true,
      Memory: 256 * 1024 * 1024,
      CpuPeriod: 100_000,
      CpuQuota: 50_000,
      Mounts: agentIds.map((agentId, index) => ({
        Type: 'volume' as const,
        Source: volumeName(home.homeId, agentId),
        Target: `/mnt/${index}`,
        ReadOnly: true,
        VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: 'local', Options: {} } },
      })),
    },
    user: '0:0',
    timeoutMs: (countMaxSeconds * agentIds.length + 30) * 1000,
  })
  const counts = readCounts(done.stdout)
  if (counts.length === agentIds.length) return counts
  throw new SandboxError(
    'meter-failed',
    `The data of agents could not be measured: ${done.output.slice(-400)}\nRepair: run \`flotilla doctor\`.`,
  )
}
