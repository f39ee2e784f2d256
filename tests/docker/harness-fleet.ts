import { agentPackagesViewSchema, packagesHumanEndpoints } from '@flotilla/protocol/packages-api'
import { expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { patient } from '../support/patience.ts'

/** The size of an agent whose runs a harness drives. */
export const harnessSize = { memory_mb: 1536, cpus: 1, pids: 512, tmp_mb: 500 }

/** The npm package of each known harness, pinned to the version that the tests were written for. */
export const harnessPackages = {
  gemini: ['@google/gemini-cli@0.61.0'],
  opencode: ['opencode-ai@1.18.33'],
  codex: ['@zed-industries/codex-acp@0.16.0'],
  'claude-code': ['@agentclientprotocol/claude-agent-acp@0.101.0'],
} as const
export type KnownHarness = keyof typeof harnessPackages

const buildTimeoutMs = 600_000

/** Creates a worker that has packages, and resolves when its image is built. */
export async function workerWithImage(
  mesh: MeshProcess,
  id: string,
  more: { readonly model: string },
): Promise<void> {
  await mesh.createWorker(id, { budget: { daily_usd: 5, monthly_usd: 50 }, ...more })
  const params = { id }
  const isReady = async () => {
    const packages = await mesh.call(packagesHumanEndpoints.agentPackages, { params })
    const { image } = agentPackagesViewSchema.parse(packages.json())
    expect(image?.state, image?.detail).not.toBe('failed')
    return image?.state === 'ready' || null
  }
  // Agents with equal packages share one image.
  if (await isReady()) return
  await mesh.call(packagesHumanEndpoints.rebuildPackages, { params, timeoutMs: patient(buildTimeoutMs) })
  await eventually('the image is built', isReady, buildTimeoutMs)
}

/** Runs a command inside an agent and returns its output. */
export async function runInside(mesh: MeshProcess, agent: string, command: string): Promise<string> {
  const run = await mesh.invoke(agent, 'run_command', { command, timeout_s: 120 })
  const { result } = run.outcome ?? {}
  return typeof result === 'string' ? result : `${run.outcome?.text} ${JSON.stringify(result)}`
}
