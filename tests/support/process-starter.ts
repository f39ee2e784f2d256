// A minimal mesh: opens the process runtime, starts an agent, replaces it by a new process, and stops it.
import { dirname, join } from 'node:path'
import process from 'node:process'
import { createProcessRuntime } from '../../packages/fleet/src/sandbox/process/process-runtime.ts'
import { sandboxSizes } from '../../packages/fleet/src/sandbox/default-agent-sizes.ts'
import { sandboxHardening } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import type { SandboxSpec } from '../../packages/fleet/src/sandbox/sandbox-spec.ts'
import type { SandboxRuntime } from '../../packages/fleet/src/sandbox/sandbox-runtime.ts'
import { systemClock } from '../../packages/foundation/src/platform/system-clock.ts'

export const starterAgent = 'scout'

export function openRuntime(dataRoot: string, agentEntry: string): SandboxRuntime {
  return createProcessRuntime({
    dataRoot,
    agentEntry,
    nodePath: process.execPath,
    path: '/usr/bin:/bin',
    compiledModules: join(dirname(dataRoot), 'compiled'),
    clock: systemClock,
  })
}

export function starterSpec(start: string): SandboxSpec {
  return {
    agentId: starterAgent,
    kind: 'worker',
    image: null,
    isolation: 'container',
    ...sandboxSizes.worker,
    pidsLimit: sandboxHardening.pidsLimit,
    tmpSizeBytes: sandboxHardening.tmpSizeBytes,
    dataLimitBytes: 64 * 1024 * 1024,
    environment: { FLOTILLA_AGENT_ID: starterAgent },
    briefingDirectory: '/nonexistent',
    files: { 'deep/seed': start },
    labels: { 'flotilla.start': start },
  }
}

const [dataRoot, agentEntry] = process.argv.slice(2)
if (process.argv[1]?.endsWith('process-starter.ts') && dataRoot && agentEntry) {
  const runtime = openRuntime(dataRoot, agentEntry)
  await runtime.prepare({ progress: () => {} })
  for (const start of ['one', 'two']) await runtime.start(starterSpec(start))
  await runtime.stop(starterAgent, { graceMs: 5_000 })
  await runtime.close()
}
