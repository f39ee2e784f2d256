import type { Engine } from '../engine/connect-engine.ts'
import type { SandboxSpec } from '../sandbox-spec.ts'
import { labelKeys } from '../hardening/container-options.ts'
import type { InspectedContainer } from './container-state.ts'
import { unlessStatus } from './unless-status.ts'

type CpuShare = SandboxSpec['cpu']

/**
 * Returns the spec with the larger start share. A label stores the original share, for a later mesh that adopts the
 * container. Pure.
 */
export function atStartShare(spec: SandboxSpec, cpu: CpuShare): SandboxSpec {
  const own = `${spec.cpu.quotaUs}/${spec.cpu.periodUs}`
  return { ...spec, cpu, labels: { ...spec.labels, [labelKeys.ownShare]: own } }
}

/** Returns the processor share to which a container must be reset; null if no reset is needed. Pure. */
export function shareToRestore({ Config, HostConfig }: InspectedContainer): CpuShare | null {
  const [quotaUs, periodUs] = (Config.Labels?.[labelKeys.ownShare] ?? '').split('/').map(Number)
  if (!quotaUs || !periodUs) return null
  const isOwn = HostConfig?.CpuQuota === quotaUs && HostConfig.CpuPeriod === periodUs
  return isOwn ? null : { quotaUs, periodUs }
}

/** Gives a container its own share again if an earlier mesh did not end its start share. */
export async function restoreShare(engine: Engine, inspected: InspectedContainer): Promise<void> {
  const own = shareToRestore(inspected)
  if (own !== null) await holdToShare(engine, inspected.Id, own)
}

/** A removed container needs no change. */
export async function holdToShare(engine: Engine, containerId: string, cpu: CpuShare): Promise<void> {
  await engine.docker
    .getContainer(containerId)
    .update({ CpuQuota: cpu.quotaUs, CpuPeriod: cpu.periodUs })
    .catch(unlessStatus([404]))
}
